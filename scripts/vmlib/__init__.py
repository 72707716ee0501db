# SPDX-License-Identifier: Apache-2.0
"""What scripts/vm is made of."""
