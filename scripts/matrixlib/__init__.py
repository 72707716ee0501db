# SPDX-License-Identifier: Apache-2.0
"""What scripts/matrix is made of: the same tests on many kernels, and one report of where these differ.

    config    ci/kernels.toml: kernels, features, steps
    suite     which tests there are, from ctest's own list
    guest     what runs inside the virtual machine: a plan comes in, events go out
    steps     from a step to a plan, and from events to cells
    pool      virtual machines side by side, as memory and processors allow
    report    the table, JSON, and JUnit
"""
