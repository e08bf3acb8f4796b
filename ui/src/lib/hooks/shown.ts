/**
 * Parts of a long page (`PagePart`): what is in one is observed only while the browser shows it, which the part's
 * `content-visibility` decides. Observers of all that is far away would cost more in each frame than what is shown.
 */

import type { Attachment } from 'svelte/attachments';

const CHANGE = 'contentvisibilityautostatechange';
const SELECTOR = '[data-part]';

/** Whether the browser says which parts it shows. */
export const TELLS_PARTS = typeof document !== 'undefined' && `on${CHANGE}` in document;

class Part {
	isShown = false;
	readonly followers = new Set<(isShown: boolean) => void>();

	constructor(element: Element) {
		element.addEventListener(CHANGE, (event) => {
			if (event.target !== element) return;
			this.isShown = !(event as ContentVisibilityAutoStateChangeEvent).skipped;
			for (const tell of this.followers) tell(this.isShown);
		});
	}
}

const parts = new WeakMap<Element, Part>();

function partOf(element: Element): Part | undefined {
	const root = TELLS_PARTS ? element.closest(SELECTOR) : null;
	if (!root) return undefined;
	const part = parts.get(root) ?? new Part(root);
	parts.set(root, part);
	return part;
}

/**
 * An attachment: calls `begin` each time the part that has the element is shown, and what it returned when it is shown no more.
 * What is in no part is shown.
 */
export function whileShown(begin: () => (() => void) | undefined): Attachment {
	return (element) => {
		const part = partOf(element);
		let end: (() => void) | undefined;
		const follow = (isShown: boolean): void => {
			end?.();
			end = isShown ? begin() : undefined;
		};
		follow(part?.isShown ?? true);
		part?.followers.add(follow);
		return () => {
			part?.followers.delete(follow);
			end?.();
		};
	};
}
