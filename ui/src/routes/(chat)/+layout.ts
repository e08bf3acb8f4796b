import { preferences } from '$lib/stores/chat/preferences.svelte';

/** The words of the chosen language are there before the first of them is shown. */
export const load = (): Promise<void> => preferences.applyLanguage();
