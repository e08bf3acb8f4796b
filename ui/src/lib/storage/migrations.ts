import type { IDBPDatabase, IDBPTransaction } from 'idb';

/**
 * The steps from one version of the database to the next: step N makes version N + 1. A step is never changed once it was
 * released, it only adds, and a record that it cannot read stays as it is: nobody's history is emptied by an update.
 */
type Step = (db: IDBPDatabase, transaction: IDBPTransaction<unknown, string[], 'versionchange'>) => void | Promise<void>;

const STEPS: Step[] = [
	(db) => {
		db.createObjectStore('conversations', { keyPath: 'id' });
		db.createObjectStore('messages', { keyPath: 'id' }).createIndex('conversation', 'conversation');
		db.createObjectStore('attachments', { keyPath: 'id' }).createIndex('conversation', 'conversation');
		db.createObjectStore('drafts', { keyPath: 'id' });
		db.createObjectStore('presets', { keyPath: 'id' });
		db.createObjectStore('streams', { keyPath: 'id' });
		db.createObjectStore('settings');
	},
	(db) => void db.createObjectStore('sync', { keyPath: 'id' })
];

export const VERSION = STEPS.length;

/** Bring a database of version `from` (0: none) to the newest version, within the transaction of its upgrade. */
export async function migrate(
	db: IDBPDatabase,
	from: number,
	transaction: IDBPTransaction<unknown, string[], 'versionchange'>
): Promise<void> {
	for (const step of STEPS.slice(from)) await step(db, transaction);
}
