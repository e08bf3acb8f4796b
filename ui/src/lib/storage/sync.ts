import { database } from './database';
import type { SyncRecord } from './records';

export async function readSyncs(): Promise<SyncRecord[]> {
	return (await database()).getAll('sync');
}

export async function readSync(id: string): Promise<SyncRecord | undefined> {
	return (await database()).get('sync', id);
}

/** Change the record of a conversation in one transaction; `change` gets undefined if there is none. Null removes it. */
export async function changeSync(
	id: string,
	change: (known: SyncRecord | undefined) => SyncRecord | null | undefined
): Promise<void> {
	const tx = (await database()).transaction('sync', 'readwrite');
	const changed = change(await tx.store.get(id));
	if (changed === null) void tx.store.delete(id);
	else if (changed) void tx.store.put(changed);
	await tx.done;
}
