/** The name of a server's token in the secret storage. */

function named(address: string): string {
  return `token ${address}`;
}

/** One for all ways to write an address: in capitals, with the usual port, with a slash at its end, with a password. */
export function tokenKey(url: string): string {
  try {
    const { protocol, host, pathname, search } = new URL(url.trim());
    return named(`${protocol}//${host}${pathname.replace(/\/+$/, '')}${search}`);
  } catch {
    return named(url);
  }
}

/** The names that the token may have been stored by when they were the addresses as they were written. */
export function formerKeys(url: string): string[] {
  const key = tokenKey(url);
  return [...new Set([named(url), `${key}/`])].filter((each) => each !== key);
}
