"""Makes wheels and npm tarballs for tests."""

import io
import json
import tarfile
import zipfile
from pathlib import Path

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"


def wheel(path: Path, files: dict[str, str], licence: str = "MIT", name: str = "demo") -> Path:
    """A wheel with metadata."""
    metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\nLicense-Expression: {licence}\n\n"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {f"{name}-1.0.dist-info/METADATA": metadata, **files}.items():
            archive.writestr(file, text)
    return path


def tarball(path: Path, files: dict[str, str], licence: str = "MIT", name: str = "demo") -> Path:
    """An npm package."""
    about = json.dumps({"name": name, "version": "1.0", "license": licence})
    with tarfile.open(path, "w:gz") as archive:
        for file, text in {"package.json": about, **files}.items():
            info = tarfile.TarInfo(f"package/{file}")
            data = text.encode()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path
