import { database } from './database';
import type { SyncRecord } from './records';

export async function readSyncs(): Promise<SyncRecord[]> {
	return (await database()).getAll('sync');
}

export async function putSync(sync: SyncRecord): Promise<void> {
	await (await database()).put('sync', sync);
}

export async function removeSync(id: string): Promise<void> {
	await (await database()).delete('sync', id);
}
