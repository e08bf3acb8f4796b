/** Says a sentence to screen readers: in one live region of the page, and in one of each dialog, beside which nothing is read. */

/** A region is read when its text changes, and not when it comes. */
const WAIT_MS = 50;
const regions = new WeakMap<Element, HTMLElement>();

export function announce(sentence: string, near: Element): void {
	const home = near.closest('dialog') ?? document.body;
	const region = regions.get(home) ?? newRegion();
	regions.set(home, region);
	home.append(region);
	region.textContent = '';
	setTimeout(() => (region.textContent = sentence), WAIT_MS);
}

function newRegion(): HTMLElement {
	const region = document.createElement('p');
	region.className = 'sr-only';
	region.role = 'status';
	return region;
}
