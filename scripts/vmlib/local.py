# SPDX-License-Identifier: Apache-2.0
"""Kernels of the user's own: a bzImage or vmlinux file, an unpacked package tree, a kernel build tree.

What such a kernel needs made (the ELF kernel of a bzImage, modules.dep) is made in the cache, never beside the files.
"""

import hashlib
import os
import pathlib
import shutil

from . import cache as cache_module, names, unpack
from .cache import Damaged
from .errors import KernelError

# Enough of a file to tell what it is: the setup header of a bzImage ends below 0x300.
HEADER_BYTES = 0x1000
IMAGE_PLACES = ("boot/vmlinuz-*", "vmlinuz-*", "usr/lib/modules/*/vmlinuz", "lib/modules/*/vmlinuz", "vmlinuz",
                "bzImage", "vmlinux")


def resolve_path(spec, cache, progress):
    """The kernel in a file or directory."""
    from .kernels import Kernel
    path = pathlib.Path(spec).expanduser()
    if path.is_dir():
        image, modules, config = look_into(path)
    elif path.is_file():
        image, modules, config = path, None, None
    else:
        raise KernelError(f"no kernel '{spec}': there is no such file or directory; names are {names.FORMS}")
    vmlinux, release = elf_kernel(image, cache, progress)
    if modules is None:
        modules = modules_beside(image, release)
    if modules is not None:
        modules = with_dependencies(modules, release, cache, progress)
    if config is None:
        config = config_beside(image, release)
    return Kernel(name=spec, release=release, version=names.upstream(release), flavour="file", vmlinux=vmlinux,
                  config=config, modules=modules, digest=digest_of(vmlinux, modules))


def look_into(folder):
    """(image, modules or None, config or None) of a directory."""
    if (folder / "include/config/kernel.release").is_file():
        # The ELF kernel inside the bzImage is stripped and what a real boot runs: take it where it was built.
        for image in (folder / "arch/x86/boot/bzImage", folder / "vmlinux"):
            if image.is_file():
                config = folder / ".config"
                return image, folder if built_modules(folder) else None, config if config.is_file() else None
        raise KernelError(f"no kernel in {folder}: a kernel build tree without arch/x86/boot/bzImage or vmlinux; "
                          "build it first")
    images = {os.path.realpath(image): image for pattern in IMAGE_PLACES for image in sorted(folder.glob(pattern))
              if image.is_file()}
    if not images:
        raise KernelError(f"no kernel in {folder}: neither a kernel build tree nor an unpacked package "
                          "(boot/vmlinuz-*, lib/modules/*/vmlinuz)")
    releases = {release_of(image): image for image in reversed(images.values())}
    if len(releases) > 1:
        raise KernelError(f"more than one kernel in {folder}; name one file: "
                          f"{', '.join(sorted(str(image) for image in releases.values()))}")
    (release, image), = releases.items()
    return image, unpack.find_modules(folder, release), unpack.find_config(folder, release)


def release_of(image):
    with open(image, "rb") as stream:
        header = stream.read(HEADER_BYTES)
    if unpack.is_bzimage(header):
        return unpack.bzimage_release(image.read_bytes())
    release = unpack.elf_release(image.read_bytes()) if header[:4] == b"\x7fELF" else None
    if release is None:
        raise KernelError(f"{image} is no kernel: neither an x86 bzImage nor an ELF kernel (vmlinux)")
    return release


def elf_kernel(image, cache, progress):
    """(path of the ELF kernel, release) of a kernel file; what a bzImage carries is unpacked once into the cache."""
    try:
        release = release_of(image)
        data = image.read_bytes()
    except OSError as problem:
        raise KernelError(f"read {image}: {problem.strerror}") from None
    if data[:4] == b"\x7fELF":
        return image.absolute(), release
    entry = f"file-{hashlib.sha256(data).hexdigest()[:32]}"
    with cache.locked(entry, lambda: progress(f"waiting for another run that unpacks {image}")):
        try:
            manifest = cache.manifest(entry)
            if manifest:
                cache.check(entry, manifest)
        except Damaged as problem:
            progress(f"the cached kernel {entry} is damaged: {problem}; unpacking {image} again")
            manifest = None
        if not manifest:
            kernel = unpack.bzimage_payload(data, image)
            with cache.making(entry) as (folder, _):
                (folder / "vmlinux").write_bytes(kernel)
                cache.seal(folder, {"release": release, "source": str(image.absolute())})
    cache.use(entry)
    return pathlib.Path(cache.path("entries", entry, "vmlinux")), release


def modules_beside(image, release):
    """The modules of a release near its kernel file, else those that the host has installed."""
    folder = image.absolute().parent
    if (folder / "kernel").is_dir() and folder.name == release:
        return folder
    for root in (folder, folder.parent, pathlib.Path("/")):
        found = unpack.find_modules(root, release)
        if found:
            return found
    return None


def config_beside(image, release):
    folder = image.absolute().parent
    for place in (folder / f"config-{release}", folder / "config", folder.parent / f"boot/config-{release}"):
        if place.is_file():
            return place
    return None


def built_modules(tree):
    """The modules that a kernel build tree has built, relative to it."""
    try:
        lines = (tree / "modules.order").read_text().split()
    except OSError:
        return []
    modules = [line.removeprefix("kernel/").removesuffix(".o").removesuffix(".ko") + ".ko" for line in lines]
    return [module for module in modules if (tree / module).is_file()]


def with_dependencies(modules, release, cache, progress):
    """A folder of modules with modules.dep: the given one, or a copy in the cache."""
    if (modules / "modules.dep").is_file():
        return modules.absolute()
    build_tree = (modules / "include/config").is_dir()
    names_of = built_modules(modules) if build_tree else [
        os.path.relpath(os.path.join(folder, name), modules)
        for folder, _, files in os.walk(modules) for name in files]
    entry = f"modules-{listing_digest(modules, names_of)[:32]}"
    with cache.locked(entry, lambda: progress(f"waiting for another run that copies the modules of {release}")):
        try:
            manifest = cache.manifest(entry)
            if manifest:
                cache.check(entry, manifest)
        except Damaged as problem:
            progress(f"the cached modules {entry} are damaged: {problem}; copying them again")
            manifest = None
        if not manifest:
            progress(f"copying the modules of {release}", 0, 0)
            with cache.making(entry) as (folder, _):
                target = folder / "lib/modules" / release
                for name in names_of:
                    place = target / ("kernel" if build_tree else "") / name
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(modules / name, place)
                for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
                    if build_tree and (modules / name).is_file():
                        shutil.copyfile(modules / name, target / name)
                unpack.run_depmod(folder, release)
                cache.seal(folder, {"release": release, "source": str(modules.absolute())})
    cache.use(entry)
    return pathlib.Path(cache.path("entries", entry, "lib/modules", release))


def listing_digest(root, files):
    """A digest of names, sizes and times: what changes when a build or an installation does."""
    summary = hashlib.sha256(str(root.absolute()).encode())
    for name in sorted(files):
        status = os.stat(root / name)
        summary.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return summary.hexdigest()


def digest_of(vmlinux, modules):
    summary = hashlib.sha256(cache_module.hash_file(vmlinux).encode())
    if modules:
        files = [os.path.relpath(os.path.join(folder, name), modules)
                 for folder, _, names_ in os.walk(modules) for name in names_]
        summary.update(listing_digest(modules, [name for name in files if os.path.exists(modules / name)]).encode())
    return summary.hexdigest()
