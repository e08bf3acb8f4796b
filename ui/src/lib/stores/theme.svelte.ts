import { storedTheme, storeTheme, type Theme } from '$lib/services/preferences';

/** The theme of all pages. `system` follows the browser. */
class ThemeStore {
	chosen: Theme = $state(storedTheme());

	/** Use a theme from now on. */
	choose(theme: Theme): void {
		this.chosen = theme;
		storeTheme(theme);
		this.apply();
	}

	/** Show the chosen theme. */
	apply(): void {
		if (this.chosen === 'system') delete document.documentElement.dataset.theme;
		else document.documentElement.dataset.theme = this.chosen;
	}
}

export const theme = new ThemeStore();
