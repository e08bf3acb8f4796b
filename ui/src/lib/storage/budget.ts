/** The storage that the browser grants this page, in bytes; null where it does not say. */
export interface Budget {
	usage: number;
	quota: number;
	/** Whether the browser keeps it when the disk is full. */
	isPersistent: boolean;
}

export async function readBudget(): Promise<Budget | null> {
	try {
		const [{ usage = 0, quota = 0 }, isPersistent] = await Promise.all([
			navigator.storage.estimate(),
			navigator.storage.persisted()
		]);
		return { usage, quota, isPersistent };
	} catch {
		return null; // not a secure context, or an old browser
	}
}

/** Ask the browser once to keep the data. Returns whether it does. */
export async function askToPersist(): Promise<boolean> {
	try {
		return (await navigator.storage.persisted()) || (await navigator.storage.persist());
	} catch {
		return false;
	}
}
