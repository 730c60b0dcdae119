"""Files that hold credentials by their very purpose."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from codeserve_lsp.globs import Budget
from codeserve_lsp.patterns import Patterns, as_bytes

__all__ = ["SECRETS", "is_secret"]

# As in an ignore file at the root of the disk, in small letters. Examples and templates of them hold none,
# and neither does code about them.
SECRETS = (
    # environments
    ".env",
    ".env[-._]*",
    "!.env[-._]example",
    "!.env[-._]sample",
    "!.env[-._]template",
    "*.env",
    "*.env.local",
    ".envrc",
    # keys and what they lock
    "*.pem",
    "*.key",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.gpg",
    "*.asc",
    "*.ovpn",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*[!a-z]id_rsa*",
    "*[!a-z]id_dsa*",
    "*[!a-z]id_ecdsa*",
    "*[!a-z]id_ed25519*",
    # folders of programs that keep some
    ".ssh/",
    ".gnupg/",
    ".aws/",
    ".azure/",
    ".kube/",
    "**/.config/gcloud/",
    "**/.config/gh/hosts.yml",
    "**/.docker/config.json",
    # files of programs
    "kubeconfig*",
    "!kubeconfig*/",
    "!kubeconfig*.go",
    "!kubeconfig*.java",
    "!kubeconfig*.js",
    "!kubeconfig*.md",
    "!kubeconfig*.py",
    "!kubeconfig*.rb",
    "!kubeconfig*.rs",
    "!kubeconfig*.ts",
    "kubeconfig",
    "*.kubeconfig",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    ".terraformrc",
    "terraform.rc",
    ".dockercfg",
    ".dockerconfigjson",
    ".vault-token",
    ".vault_pass",
    ".vault_pass.txt",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".htpasswd",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    "auth.json",
    # what was typed
    ".*_history",
    "fish_history",
    # by what they are called
    "credentials",
    "credentials.json",
    "credentials.yml",
    "credentials.yaml",
    "credentials.toml",
    "credentials.ini",
    "credentials.txt",
    "*secret*.y*ml",
    "*secret*.json",
    "*service-account*.json",
    "secret.toml",
    "secret.ini",
    "secret.txt",
    "secrets.toml",
    "secrets.ini",
    "secrets.txt",
    "*secrets.properties",
)
# What a copy of a file has behind its name.
COPIES = ("~", ".bak", ".backup", ".old", ".orig", ".save")

_PATTERNS = Patterns("\n".join(SECRETS).encode())
# Steps of globs for one path: what is here takes a fraction of them.
_WORK = 1_000_000


@lru_cache(maxsize=4_096)
def _names(path: str, *, folder: bool) -> bool:
    return bool(_PATTERNS.verdict(path, Budget(_WORK), folder=folder))


def is_secret(path: Path) -> bool:
    """Whether a file, or a folder that it is in, holds credentials by its name, in whatever letters.

    So does a copy of it that an editor or a user has made.
    """
    parts = [as_bytes(part).lower() for part in path.parts if part != path.anchor]
    if any(_names("/".join(parts[:depth]), folder=True) for depth in range(1, len(parts))):
        return True
    while parts:
        if _names("/".join(parts), folder=False):
            return True
        copy = next((ending for ending in COPIES if parts[-1].endswith(ending)), "")
        if not copy or copy == parts[-1]:
            break
        parts[-1] = parts[-1].removesuffix(copy)
    return False
