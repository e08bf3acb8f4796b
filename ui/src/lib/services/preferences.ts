/** What a browser remembers of its user: the theme, nothing else. No key and no token is ever stored here. */

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'stoker.theme';

export function storedTheme(): Theme {
	try {
		const found = localStorage.getItem(KEY);
		return THEMES.find((theme) => theme === found) ?? 'system';
	} catch {
		return 'system'; // the browser refuses storage
	}
}

export function storeTheme(theme: Theme): void {
	try {
		localStorage.setItem(KEY, theme);
	} catch {
		// it applies to this page only
	}
}
