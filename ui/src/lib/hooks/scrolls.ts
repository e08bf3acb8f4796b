/** An attachment: the keyboard reaches the element while it scrolls sideways, and passes it by while it does not. */

import type { Attachment } from 'svelte/attachments';

let observer: ResizeObserver | undefined;

export const keyboardScroll: Attachment<HTMLElement> = (element) => {
	observer ??= new ResizeObserver((entries) => {
		for (const { target } of entries) {
			const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
			if (scrolls) target.setAttribute('tabindex', '0');
			else if (document.activeElement !== target) target.removeAttribute('tabindex');
		}
	});
	observer.observe(element);
	// what is in it may grow while its own size stays
	for (const child of element.children) observer.observe(child);
	return () => observer?.unobserve(element);
};
