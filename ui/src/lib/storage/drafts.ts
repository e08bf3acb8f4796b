import { database } from './database';
import type { Draft } from './records';

export async function readDraft(id: string): Promise<Draft | undefined> {
	return (await database()).get('drafts', id);
}

export async function putDraft(draft: Draft): Promise<void> {
	await (await database()).put('drafts', draft);
}

export async function removeDraft(id: string): Promise<void> {
	await (await database()).delete('drafts', id);
}
