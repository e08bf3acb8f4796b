const ACTIVE_MS = 60_000;

let lastAt = Date.now();

/** Note that somebody uses the page: a key, a click, a touch. */
export function noteActivity(): void {
	lastAt = Date.now();
}

/**
 * The header that every request of the pages carries: no other site can add it without the API's consent. It says `idle` when
 * nobody has used the page for a minute: what such a page reads does not keep its session alive.
 */
export function uiHeader(): { 'X-Stoker-UI': '1' | 'idle' } {
	return { 'X-Stoker-UI': Date.now() - lastAt < ACTIVE_MS ? '1' : 'idle' };
}
