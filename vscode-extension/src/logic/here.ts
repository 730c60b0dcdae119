/** Why there are no completions in the active editor. */

import { disabledReason, type Languages } from './languages.ts';

export interface Switches {
  /** The setting `codeserve.enabled`. */
  readonly enabled: boolean;
  /** VS Code's own `editor.inlineSuggest.enabled`, as it holds in that editor. */
  readonly inlineSuggest: boolean;
  readonly languages: Languages;
}

export interface Place {
  readonly languageId: string;
  /** Of the document's URI: `file`, `git`, `output`, … */
  readonly scheme: string;
  /** Whether the language server is told of the document. */
  readonly served: boolean;
  /** The language server does not complete it, because of its file. */
  readonly excluded: boolean;
}

/** The first reason that holds, in a sentence; '' when there are completions. Without an editor `place` is undefined. */
export function whyOff({ enabled, inlineSuggest, languages }: Switches, place: Place | undefined): string {
  const everywhere = disabledReason(enabled, languages, undefined);
  if (everywhere !== '') {
    return everywhere;
  }
  if (!inlineSuggest) {
    return 'The editor shows no suggestions: its setting editor.inlineSuggest.enabled is off.';
  }
  if (place === undefined) {
    return '';
  }
  if (!place.served) {
    return `Not offered in this kind of document (${place.scheme}): only in files on this machine, new ones, and cells of notebooks.`;
  }
  const here = disabledReason(enabled, languages, place.languageId);
  return here === '' && place.excluded
    ? 'This file stays on this machine: it is ignored, too large, or holds secrets by its name.'
    : here;
}
