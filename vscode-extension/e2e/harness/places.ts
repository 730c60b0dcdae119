/** Where things are. All can be set from outside, so that the tests run where the tools are elsewhere. */

import path from 'node:path';

const EXTENSION = path.resolve(import.meta.dirname, '..', '..');

/** What `e2e/install.sh` has installed. */
export const PREFIX = process.env['E2E_PREFIX'] ?? path.join(EXTENSION, '.e2e');
/** What the language server needs from an index of packages, as wheels. */
export const WHEELS = process.env['E2E_WHEELS'] ?? path.join(EXTENSION, '.e2e', 'wheels');
/** A Python with codeserve and an engine, in an environment of its own. */
export const PYTHON = process.env['E2E_PYTHON'] ?? path.join(EXTENSION, '..', '.venv', 'bin', 'python');
export const CHROMIUM = process.env['E2E_CHROMIUM'] ?? '/usr/bin/chromium';
/** Screenshots and logs of a run. */
export const ARTIFACTS = process.env['E2E_ARTIFACTS'] ?? path.join(EXTENSION, '.e2e', 'artifacts');
/** The package under test. */
export const VSIX = process.env['E2E_VSIX'] ?? path.join(EXTENSION, 'codeserve.vsix');
/** Where the pictures of the README and of the walkthrough are; set to refresh them. */
export const PICTURES =
  process.env['E2E_UPDATE_PICTURES'] === '1' ? path.join(EXTENSION, 'media') : undefined;
