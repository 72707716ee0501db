# SPDX-License-Identifier: Apache-2.0
"""From kernel packages, or a bzImage, to what a boot needs: the ELF kernel inside the bzImage, the modules that a
virtual machine can use, and the configuration.

QEMU boots the ELF kernel itself: the guest is spared the decompression, half of its boot under TCG.
"""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import zlib

from .errors import KernelError

# Of drivers/, what a virtual machine has; other folders are kept whole, but for sound/. What these need is kept, too.
GUEST_DRIVERS = {"block", "char", "cpufreq", "dax", "hwtracing", "nvdimm", "powercap", "ptp", "vhost", "virtio"}
# Virtual network devices lie in drivers/net itself, hardware mostly below it.
GUEST_NETWORK = {"bonding", "ipvlan", "netdevsim", "ovpn", "team", "vxlan", "wireguard"}

SETUP_MAGIC_OFFSET, SETUP_MAGIC = 0x202, b"HdrS"
SETUP_SECTORS_OFFSET = 0x1F1
VERSION_POINTER_OFFSET = 0x20E
PROTOCOL_OFFSET, PROTOCOL_WITH_PAYLOAD = 0x206, 0x0208
PAYLOAD_OFFSET = 0x248
SECTOR_BYTES = 512
BANNER = re.compile(rb"Linux version (\d+\.\d+[^ \0\n]*) ")


def is_bzimage(data):
    return data[SETUP_MAGIC_OFFSET:SETUP_MAGIC_OFFSET + 4] == SETUP_MAGIC


def bzimage_release(data):
    """What `uname -r` will say, from the setup header (Documentation/arch/x86/boot.rst of the kernel)."""
    start = struct.unpack_from("<H", data, VERSION_POINTER_OFFSET)[0] + 0x200
    return data[start:start + 256].split(b"\0")[0].split(b" ")[0].decode("ascii", "replace")


def elf_release(data):
    """What `uname -r` will say, from the banner inside an ELF kernel; None when there is none."""
    match = BANNER.search(data)
    return match[1].decode("ascii", "replace") if match else None


def bzimage_payload(data, path):
    """The ELF kernel that a bzImage carries."""
    if not is_bzimage(data):
        raise KernelError(f"unpack {path}: not an x86 bzImage (no 'HdrS' in its setup header)")
    if struct.unpack_from("<H", data, PROTOCOL_OFFSET)[0] < PROTOCOL_WITH_PAYLOAD:
        raise KernelError(f"unpack {path}: its setup header is older than boot protocol 2.08 and names no payload")
    offset, length = struct.unpack_from("<II", data, PAYLOAD_OFFSET)
    start = (data[SETUP_SECTORS_OFFSET] + 1) * SECTOR_BYTES + offset
    payload = data[start:start + length]
    if len(payload) != length:
        raise KernelError(f"unpack {path}: the file ends inside the kernel; it is damaged")
    kernel = decompress(payload, path)
    if kernel[:4] != b"\x7fELF":
        raise KernelError(f"unpack {path}: its payload is no ELF kernel")
    return kernel


def decompress(payload, path):
    """The content of a compressed kernel. All but gzip are followed by their size, four bytes."""
    if payload[:2] == b"\x1f\x8b":
        return guarded(lambda: zlib.decompressobj(wbits=31).decompress(payload), path)
    if payload[:4] == b"\x7fELF":
        return payload
    packed, size = payload[:-4], int.from_bytes(payload[-4:], "little")
    if packed[:6] == b"\xfd7zXZ\0" or packed[:3] == b"\x5d\0\0":
        import lzma
        kernel = guarded(lambda: lzma.LZMADecompressor().decompress(packed), path)
    elif packed[:3] == b"BZh":
        import bz2
        kernel = guarded(lambda: bz2.BZ2Decompressor().decompress(packed), path)
    elif packed.startswith(b"\x28\xb5\x2f\xfd"):
        kernel = by_command(["zstd", "-dcq"], packed, path)
    elif packed.startswith(b"\x02\x21\x4c\x18"):
        kernel = by_command(["lz4", "-dcq"], packed, path)
    else:
        raise KernelError(f"unpack {path}: its payload is packed in no way known here (it begins {packed[:4].hex()}); "
                          "known are gzip, xz, lzma, bzip2, zstd, lz4")
    if len(kernel) != size:
        raise KernelError(f"unpack {path}: {len(kernel)} bytes come out of it instead of {size}; it is damaged")
    return kernel


def guarded(decompressor, path):
    try:
        return decompressor()
    except Exception as problem:  # zlib, lzma and bz2 have an exception each, two of them are plain OSErrors
        raise KernelError(f"unpack {path}: {problem}; it is damaged") from None


def by_command(command, payload, path):
    if not shutil.which(command[0]):
        raise KernelError(f"unpack {path}: {command[0]} is not installed; run scripts/setup --vm")
    ended = subprocess.run(command, input=payload, capture_output=True, check=False)
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise KernelError(f"unpack {path}: {command[0]}: {said[-1] if said else 'failed'}; it is damaged")
    return ended.stdout


def extract(deb, tree):
    """Lays the files of a package out in `tree`. Nothing of the package is run, no owner or mode of it is taken."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as reader:
        writer = subprocess.run(["tar", "-x", "-C", str(tree), "--no-same-owner", "--no-same-permissions",
                                 "--exclude=*/doc/*", "--exclude=*/bug/*"], stdin=reader.stdout, capture_output=True,
                                check=False)
        said = reader.stderr.read()
    if reader.returncode or writer.returncode:
        # A tar that fails, on a full disk for one, breaks the pipe that dpkg-deb writes to.
        said = writer.stderr if b"Broken pipe" in said or not said else said
        lines = said.decode(errors="replace").strip().splitlines()
        reason = next((line for line in lines if "No space left" in line), lines[0] if lines else "dpkg-deb failed")
        raise KernelError(f"unpack {pathlib.Path(deb).name}: {reason}")


def find_image(tree, release):
    """The bzImage of a release in an unpacked package: under /boot, or beside the modules."""
    tree = pathlib.Path(tree)
    for place in (f"boot/vmlinuz-{release}", f"usr/lib/modules/{release}/vmlinuz", f"lib/modules/{release}/vmlinuz"):
        if (tree / place).is_file():
            return tree / place
    return None


def find_config(tree, release):
    tree = pathlib.Path(tree)
    for place in (f"boot/config-{release}", f"usr/lib/modules/{release}/config", f"lib/modules/{release}/config"):
        if (tree / place).is_file():
            return tree / place
    return None


def find_modules(tree, release):
    """The folder of modules of a release: /lib/modules, or /usr/lib/modules where the two are one."""
    tree = pathlib.Path(tree)
    for place in ("lib/modules", "usr/lib/modules"):
        if (tree / place / release / "kernel").is_dir():
            return tree / place / release
    return None


def run_depmod(root, release):
    """Makes modules.dep and its like for root/lib/modules/RELEASE."""
    if not shutil.which("depmod", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"):
        raise KernelError("depmod is not installed; run scripts/setup --vm")
    ended = subprocess.run([shutil.which("depmod", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"), "-b",
                            str(root), release], capture_output=True, text=True, check=False)
    if ended.returncode:
        lines = ended.stderr.strip().splitlines()
        raise KernelError(f"order the modules of {release}: depmod: {lines[-1] if lines else 'failed'}")


def wanted_in_guest(module):
    """Whether a module, by its path below the folder of modules, is of use to a virtual machine."""
    parts = module.split("/")
    if parts[0] != "kernel" or len(parts) < 3:
        return True
    if parts[1] == "sound":
        return False
    if parts[1] != "drivers":
        return True
    if parts[2] == "net":
        return len(parts) == 4 or parts[3] in GUEST_NETWORK
    return parts[2] in GUEST_DRIVERS


def thin_out(modules):
    """Removes the modules that no virtual machine needs; what the others depend on stays."""
    needs = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        module, _, needed = line.partition(":")
        needs[module] = needed.split()
    # modules.dep names what a module needs in full, not step by step.
    keep = {name for module in needs if wanted_in_guest(module) for name in (module, *needs[module])}
    for module in needs:
        if module not in keep:
            (modules / module).unlink()
    for folder, _, _ in os.walk(modules, topdown=False):
        if not os.listdir(folder):
            os.rmdir(folder)


def lay_out(debs, release, entry, scratch):
    """Makes entry/vmlinux, entry/config and entry/lib/modules/RELEASE from packages, by way of the folder `scratch`."""
    for deb in debs:
        extract(deb, scratch)
    image = find_image(scratch, release)
    if image is None:
        raise KernelError(f"unpack {debs[0].name}: there is no vmlinuz of {release} in it")
    (entry / "vmlinux").write_bytes(bzimage_payload(image.read_bytes(), image.name))
    config = find_config(scratch, release)
    if config:
        shutil.move(config, entry / "config")
    modules = find_modules(scratch, release)
    if modules is None:
        raise KernelError(f"unpack {debs[0].name}: there are no modules of {release} in it")
    (entry / "lib/modules").mkdir(parents=True)
    kept = entry / "lib/modules" / release
    for beside in (scratch / "lib/modules" / release, scratch / "usr/lib/modules" / release):
        if beside.is_dir() and beside != modules:
            for name in os.listdir(beside):
                shutil.move(beside / name, modules / name)
    shutil.move(modules, kept)
    for left in ("vmlinuz", "System.map"):
        (kept / left).unlink(missing_ok=True)
    run_depmod(entry, release)
    thin_out(kept)
    run_depmod(entry, release)
