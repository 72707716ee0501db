# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a kernel that was asked for."""


class KernelError(Exception):
    """A kernel cannot be had. The text is one line: what was wanted, why it failed, what would be right."""


class NotInArchive(KernelError):
    """A package that the index lists, but that the archive no longer holds."""


class DamagedDownload(KernelError):
    """A package that is not what the signed index says."""
