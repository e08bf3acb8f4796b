// The theme of the page: the one that was chosen in the UI, or the system's. It runs before the first paint.
'use strict';

(() => {
	const KEY = 'stoker.theme'; // as in ui/src/lib/services/preferences.ts
	const system = matchMedia('(prefers-color-scheme: dark)');

	function chosen() {
		try {
			return localStorage.getItem(KEY);
		} catch {
			return null; // the browser refuses storage
		}
	}

	function apply() {
		const theme = chosen();
		const isDark = theme === 'dark' || (theme !== 'light' && system.matches);
		document.documentElement.classList.toggle('dark-mode', isDark); // Swagger UI's own class
	}

	system.addEventListener('change', apply);
	addEventListener('storage', apply); // it was changed in another tab
	apply();
})();
