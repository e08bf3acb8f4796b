/**
 * An attachment of a part of a page: calls once when it is near to what is shown, and otherwise when the browser has time,
 * the last parts first. So a long page is there at once, and whole a moment later: the browser's own search finds all of it.
 */

import { flushSync } from 'svelte';
import type { Attachment } from 'svelte/attachments';
import { TELLS_PARTS, whileShown } from '$lib/hooks/shown';

/** Milliseconds that a person does not notice. */
const SLICE = 8;

const waiting = new Map<Element, () => void>();
let isScheduled = false;

export function whenNearOrIdle(callback: () => void): Attachment {
	return (element) => {
		const call = (): void => {
			if (waiting.delete(element)) callback();
		};
		waiting.set(element, call);
		schedule();
		const forget = TELLS_PARTS ? whileShown(() => void call())(element) : undefined;
		return () => {
			waiting.delete(element);
			forget?.();
		};
	};
}

function schedule(): void {
	if (isScheduled) return;
	isScheduled = true;
	if (typeof requestIdleCallback === 'function') requestIdleCallback(work, { timeout: 2_000 });
	else setTimeout(work, 50); // Safari
}

function work(): void {
	isScheduled = false;
	const end = performance.now() + SLICE;
	for (const call of [...waiting.values()].reverse()) {
		call();
		flushSync();
		if (performance.now() > end) break;
	}
	if (waiting.size > 0) schedule();
}
