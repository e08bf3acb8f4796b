/** What a browser remembers of its user: the theme, and how the chat is used. No key and no token is ever stored here. */

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const THEME_KEY = 'stoker.theme';
const CHAT_KEY = 'stoker.chat';

export function storedTheme(): Theme {
	const found = read(THEME_KEY);
	return THEMES.find((theme) => theme === found) ?? 'system';
}

export function storeTheme(theme: Theme): void {
	write(THEME_KEY, theme);
}

/** What is stored of the chat's preferences: whoever reads it checks each field. */
export function storedChatPreferences(): Record<string, unknown> {
	try {
		const found: unknown = JSON.parse(read(CHAT_KEY) ?? '{}');
		return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
	} catch {
		return {};
	}
}

export function storeChatPreferences(values: Record<string, unknown>): void {
	write(CHAT_KEY, JSON.stringify(values));
}

export function forgetChatPreferences(): void {
	try {
		localStorage.removeItem(CHAT_KEY);
	} catch {
		// nothing was stored
	}
}

function read(key: string): string | null {
	try {
		return localStorage.getItem(key);
	} catch {
		return null; // the browser refuses storage
	}
}

function write(key: string, value: string): void {
	try {
		localStorage.setItem(key, value);
	} catch {
		// it applies to this page only
	}
}
