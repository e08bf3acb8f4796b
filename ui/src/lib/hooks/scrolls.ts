/** An attachment: the keyboard reaches the element while it scrolls sideways, and passes it by while it does not. */

import type { Attachment } from 'svelte/attachments';
import { whileShown } from '$lib/hooks/shown';

/** The scrolling elements, by themselves and by what is in them: that may grow while their own size stays. */
const scrollers = new WeakMap<Element, HTMLElement>();
let observer: ResizeObserver | undefined;

export const keyboardScroll: Attachment<HTMLElement> = (element) =>
	whileShown(() => {
		const sizes = (observer ??= new ResizeObserver(onSizes));
		const observed = [element, ...element.children];
		for (const one of observed) {
			scrollers.set(one, element);
			sizes.observe(one);
		}
		return () => {
			for (const one of observed) sizes.unobserve(one);
		};
	})(element);

function onSizes(entries: ResizeObserverEntry[]): void {
	const changed = new Set(entries.map(({ target }) => scrollers.get(target)).filter((one) => one !== undefined));
	// all is read before anything is changed
	const found = [...changed].map((one) => ({ one, scrolls: one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight }));
	for (const { one, scrolls } of found) {
		if (scrolls) one.setAttribute('tabindex', '0');
		else if (document.activeElement !== one) one.removeAttribute('tabindex');
	}
}
