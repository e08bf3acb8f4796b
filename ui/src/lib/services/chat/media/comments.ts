import type { QueuePlace } from '../live_state';

/** How much of the work is done: ms of a recording, steps of an image. */
export interface WorkDone {
	done: number;
	total: number;
}

const PLACE = /^queue position (about )?(\d+) of \d+(?:, estimated wait (\d+) s)?, (.*)$/;

/** The place in the queue that a comment of a stream tells (docs/api.md); null if it tells none. */
export function placeIn(comment: string): QueuePlace | null {
	const found = PLACE.exec(comment);
	if (!found) return null;
	const [, about, position, seconds, reason = ''] = found;
	const percent = /(\d+) ?%/.exec(reason)?.[1];
	return {
		position: Number(position),
		isEstimate: about !== undefined,
		estimateMs: seconds === undefined ? null : Number(seconds) * 1_000,
		cause: null,
		reason,
		loadPercent: percent === undefined ? null : Number(percent),
		loadMs: null
	};
}

/** The progress that a comment of a stream tells; null if it tells none. */
export function workIn(comment: string): WorkDone | null {
	if (!comment.startsWith('{')) return null;
	try {
		const [done, total] = (JSON.parse(comment) as { progress?: unknown[] }).progress ?? [];
		return typeof done === 'number' && typeof total === 'number' && total > 0 ? { done, total } : null;
	} catch {
		return null;
	}
}
