/** Where completions are wanted. */

export type Languages = Readonly<Record<string, boolean>>;

/** Whether completions are on in a language: its own entry, else the one of `*`, else yes. */
export function languageOn(languages: Languages, id: string): boolean {
  return languages[id] ?? languages['*'] ?? true;
}

/** The setting with one language switched the other way, without an entry that says what goes without saying. */
export function toggled(languages: Languages, id: string): Record<string, boolean> {
  const wanted = !languageOn(languages, id);
  const others = Object.fromEntries(Object.entries(languages).filter(([name]) => name !== id));
  return languageOn(others, id) === wanted ? others : { ...others, [id]: wanted };
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
