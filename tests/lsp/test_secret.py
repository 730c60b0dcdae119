"""Files that stay here for their name alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeserve_lsp.globs import Budget
from codeserve_lsp.patterns import Patterns
from codeserve_lsp.secret import COPIES, SECRETS, is_secret

# A path for each pattern.
NAMED = {
    ".env": "app/.env",
    ".env[-._]*": "app/.env-production",
    "*.env": "prod.env",
    "*.env.local": "prod.env.local",
    ".envrc": ".envrc",
    "*.pem": "server.pem",
    "*.key": "a/b/tls.key",
    "*.p8": "AuthKey.p8",
    "*.p12": "x.p12",
    "*.pfx": "x.pfx",
    "*.jks": "x.jks",
    "*.keystore": "debug.keystore",
    "*.kdbx": "x.kdbx",
    "*.ppk": "x.ppk",
    "*.gpg": "pass/x.gpg",
    "*.asc": "key.asc",
    "*.ovpn": "x.ovpn",
    "id_rsa*": "id_rsa.pub",
    "id_dsa*": "id_dsa",
    "id_ecdsa*": "id_ecdsa",
    "id_ed25519*": "id_ed25519.pub",
    "*[!a-z]id_rsa*": "my_id_rsa",
    "*[!a-z]id_dsa*": "my-id_dsa",
    "*[!a-z]id_ecdsa*": "my.id_ecdsa",
    "*[!a-z]id_ed25519*": "2id_ed25519",
    ".ssh/": "home/u/.ssh/config",
    ".gnupg/": "home/u/.gnupg/x",
    ".aws/": "home/u/.aws/config",
    ".azure/": "home/u/.azure/x.json",
    ".kube/": "home/u/.kube/config",
    "**/.config/gcloud/": "home/u/.config/gcloud/a/x.json",
    "**/.config/gh/hosts.yml": "home/u/.config/gh/hosts.yml",
    "**/.docker/config.json": "home/u/.docker/config.json",
    "kubeconfig*": "kubeconfig-prod.yaml",
    "kubeconfig": "kubeconfig",
    "*.kubeconfig": "prod.kubeconfig",
    "*.tfstate": "terraform.tfstate",
    "*.tfstate.*": "terraform.tfstate.backup",
    "*.tfvars": "x.tfvars",
    ".terraformrc": ".terraformrc",
    "terraform.rc": "terraform.rc",
    ".dockercfg": ".dockercfg",
    ".dockerconfigjson": "k8s/.dockerconfigjson",
    ".vault-token": ".vault-token",
    ".vault_pass": ".vault_pass",
    ".vault_pass.txt": ".vault_pass.txt",
    ".my.cnf": ".my.cnf",
    ".s3cfg": ".s3cfg",
    ".boto": ".boto",
    ".netrc": ".netrc",
    "_netrc": "_netrc",
    ".pgpass": ".pgpass",
    ".htpasswd": "www/.htpasswd",
    ".npmrc": ".npmrc",
    ".yarnrc.yml": ".yarnrc.yml",
    ".pypirc": ".pypirc",
    ".git-credentials": ".git-credentials",
    "auth.json": "auth.json",
    ".*_history": ".bash_history",
    "fish_history": "home/u/.local/share/fish/fish_history",
    "credentials": "credentials",
    "credentials.json": "config/credentials.json",
    "credentials.yml": "credentials.yml",
    "credentials.yaml": "credentials.yaml",
    "credentials.toml": "credentials.toml",
    "credentials.ini": "credentials.ini",
    "credentials.txt": "credentials.txt",
    "*secret*.y*ml": "secrets.yaml",
    "*secret*.json": "client_secret_1.json",
    "*service-account*.json": "my-service-account-1.json",
    "secret.toml": "secret.toml",
    "secret.ini": "secret.ini",
    "secret.txt": "secret.txt",
    "secrets.toml": ".streamlit/secrets.toml",
    "secrets.ini": "secrets.ini",
    "secrets.txt": "secrets.txt",
    "*secrets.properties": "application-secrets.properties",
}


@pytest.mark.parametrize("pattern", [each for each in SECRETS if not each.startswith("!")])
def test_each_pattern_is_of_use(pattern: str) -> None:
    """It rules out the file that it is for, wherever that is, in capitals, and in copies."""
    path = NAMED[pattern]
    for at in (path, f"home/u/project/{path}"):
        names = at.split("/")
        assert any(
            Patterns(pattern.encode()).verdict(
                "/".join(names[:depth]), Budget(1_000), folder=depth < len(names)
            )
            for depth in range(1, len(names) + 1)
        )
        assert is_secret(Path("/", at))
        assert is_secret(Path("/", at.upper()))
        assert all(is_secret(Path("/", at + ending)) for ending in COPIES)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "a.py",
            "env.py",
            "keys.py",
            "secrets.py",
            "secret_test.go",
            "src/credentials.go",
            "auth.py",
            "history.py",
        ),
        *(
            ".env.example",
            ".env-sample",
            ".env_template",
            "valid_rsa.py",
            "kubeconfig.go",
            "kubeconfig_test.go",
        ),
        *(
            "pkg/kubeconfig-tool/main.go",
            "environment.ts",
            "key.rs",
            "config.json",
            "docker/config.json",
            "~",
        ),
    ],
)
def test_code_is_none(name: str) -> None:
    """Code does not count as a secret for its name, nor does an example."""
    assert not is_secret(Path("/home/u/project", name))
    assert not is_secret(Path(name))
