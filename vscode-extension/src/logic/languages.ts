/** Where completions are wanted. */

export type Languages = Readonly<Record<string, boolean>>;

/** The setting as VS Code gives it, which may be of any type: what says nothing is left out. */
export function readLanguages(value: unknown): Languages {
  if (typeof value !== 'object' || value === null) {
    return {};
  }
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean'),
  );
}

/** Whether completions are on in a language: its own entry, else the one of `*`, else yes. */
export function languageOn(languages: Languages, id: string): boolean {
  return languages[id] ?? languages['*'] ?? true;
}

/**
 * The setting with one language switched the other way, without an entry that says what goes without saying.
 *
 * @param own the setting in the place that is to be changed
 * @param below the setting in the places that it is laid over, as the defaults below the user's, and these below the workspace's
 */
export function toggled(own: Languages, below: Languages, id: string): Record<string, boolean> {
  const wanted = !languageOn({ ...below, ...own }, id);
  const others = Object.fromEntries(Object.entries(own).filter(([name]) => name !== id));
  return languageOn({ ...below, ...others }, id) === wanted ? others : { ...others, [id]: wanted };
}

/** Why there are no completions in an editor, in a sentence; '' when there are. */
export function disabledReason(enabled: boolean, languages: Languages, id: string | undefined): string {
  if (!enabled) {
    return 'Switched off everywhere.';
  }
  if (id !== undefined && !languageOn(languages, id)) {
    return `Switched off for ${id}.`;
  }
  return '';
}
