/** An attachment: calls once when the element is near to what is shown, so that work for the rest of a long page waits. */

import type { Attachment } from 'svelte/attachments';
import { whileShown } from '$lib/hooks/shown';

const callbacks = new WeakMap<Element, () => void>();
let observer: IntersectionObserver | undefined;

function shared(): IntersectionObserver {
	observer ??= new IntersectionObserver(
		(entries) => {
			for (const { isIntersecting, target } of entries) {
				if (!isIntersecting) continue;
				observer?.unobserve(target);
				callbacks.get(target)?.();
				callbacks.delete(target);
			}
		},
		{ rootMargin: '600px' }
	);
	return observer;
}

export function whenNear(callback: () => void): Attachment {
	return (element) => {
		callbacks.set(element, callback);
		return whileShown(() => {
			if (!callbacks.has(element)) return undefined;
			shared().observe(element);
			return () => shared().unobserve(element);
		})(element);
	};
}
