import { ApiProblem } from '$lib/services/call';
import { deleteResponse } from '$lib/services/chat/answer_calls';
import { putSetting, readSetting } from '$lib/storage/settings';
import { chatStorage } from './storage.svelte';

const NAME = 'responses.ended';
/** So many of the latest ones stay on the platform: the inspector reads them. */
export const KEPT = 8;
/** After this time the platform has dropped them by itself (`responses.resumable_retention_s`), in ms. */
const RETENTION_MS = 23 * 3_600_000;

interface Ended {
	id: string;
	at: number;
}

let work: Promise<void> = Promise.resolve();

/**
 * Note that this browser has all of a response. The platform keeps it for a day, in which it counts against the storage of
 * its tenant: all but the latest ones of this browser are deleted there.
 */
export function noteEnded(id: string): Promise<void> {
	return (work = work.then(() => note(id)).catch(() => undefined));
}

async function note(id: string): Promise<void> {
	const now = Date.now();
	const known = await chatStorage.read(() => readSetting(NAME), undefined);
	const ended = (Array.isArray(known) ? (known as Ended[]) : []).filter((one) => one.id !== id && now - one.at < RETENTION_MS);
	ended.push({ id, at: now });
	while (ended.length > KEPT && (await isDeleted(ended[0]?.id ?? ''))) ended.shift();
	await chatStorage.write(() => putSetting(NAME, ended));
}

/** Delete a response. Returns false where a later try may work. */
async function isDeleted(id: string): Promise<boolean> {
	try {
		await deleteResponse(id);
		return true;
	} catch (error) {
		return error instanceof ApiProblem && error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429;
	}
}
