import type { Attachment } from '$lib/chat_types';
import { refusedAttachments, type Refused } from '$lib/services/attachments/gate';
import { AttachmentProblem, LIMITS, type AttachmentProblemCode } from '$lib/services/attachments/limits';
import { cleanName, prepareAttachment } from '$lib/services/attachments/prepare';
import { newId } from '$lib/services/chat/new_records';
import { attachmentsOf, dropAttachment, hasRoom, keepAttachment } from './attachments';

/** A file of the composer: it is being read, ready, or was refused (`problem`). */
export interface PendingItem {
	id: string;
	name: string;
	attachment: Attachment | null;
	problem: AttachmentProblemCode | null;
	/** The file that it was made of; null after a reload. */
	file: File | null;
}

/** The files of a message that is being written. Each is read, one after the other, and kept with the draft. */
export class PendingAttachments {
	items: PendingItem[] = $state.raw([]);
	/** Whether a file is being read: the message waits for it. */
	isReading = $derived(this.items.some((item) => item.attachment === null && item.problem === null));
	attachments = $derived(this.items.map((item) => item.attachment).filter((attachment) => attachment !== null));
	/** The ids of those that can be sent, for the draft and the message. */
	ids = $derived(this.attachments.map((attachment) => attachment.id));
	/** Those of a sent message stay when they are taken out of its edited copy. */
	#shared: string[] = [];
	#work: Promise<void> = Promise.resolve();

	get count(): number {
		return this.items.length;
	}

	/** Show kept ones: of a draft, or of a sent message that is edited (`isShared`). */
	async open(ids: string[], isShared = false): Promise<void> {
		const found = await attachmentsOf(ids);
		const fresh = found.filter(({ id }) => !this.items.some((item) => item.id === id));
		if (isShared) this.#shared.push(...fresh.map(({ id }) => id));
		const items = fresh.map((attachment) => ({ id: attachment.id, name: attachment.name, attachment, problem: null, file: null }));
		if (items.length > 0) this.items = [...items, ...this.items];
	}

	/** Attach files, up to the bound of a message. */
	add(files: Iterable<File>): void {
		for (const file of files) {
			const ready = this.items.filter((item) => item.problem === null).length;
			const item = { id: newId(), name: cleanName(file.name), attachment: null, file };
			if (ready >= LIMITS.files) {
				this.items = [...this.items, { ...item, problem: 'tooMany', file: null }];
				return;
			}
			this.items = [...this.items, { ...item, problem: null }];
			this.#later(item.id, 'scanned');
		}
	}

	/** Take a PDF as pictures of its pages, or as its text. The file has to be at hand. */
	read(id: string, pictures: 'scanned' | 'always'): void {
		this.#change(id, { attachment: null });
		this.#later(id, pictures);
	}

	async remove(id: string): Promise<void> {
		const item = this.items.find((one) => one.id === id);
		this.items = this.items.filter((one) => one !== item);
		if (item?.attachment && !this.#shared.includes(id)) await dropAttachment(id);
	}

	/** Why the message cannot be sent to a model that takes these modalities (to all of several); empty if it can. */
	refused(...models: string[][]): Refused[] {
		return refusedAttachments(this.attachments, ...models);
	}

	/** The ids for the message that is sent now: the composer is empty then, and the records stay. */
	take(): string[] {
		const ids = this.ids;
		this.items = [];
		this.#shared = [];
		return ids;
	}

	/** Forget all of them without removing the records: the draft of another conversation is shown. */
	close(): void {
		this.take();
	}

	#later(id: string, pictures: 'scanned' | 'always'): void {
		this.#work = this.#work.then(() => this.#prepare(id, pictures));
	}

	async #prepare(id: string, pictures: 'scanned' | 'always'): Promise<void> {
		const item = this.items.find((one) => one.id === id);
		if (!item?.file) return; // removed meanwhile
		try {
			const attachment = { ...(await prepareAttachment(item.file, pictures)), id };
			if (!(await hasRoom(attachment.bytes))) throw new AttachmentProblem('noSpace', attachment.name);
			if (!this.items.some((one) => one.id === id)) return;
			await keepAttachment(attachment);
			this.#change(id, { attachment });
		} catch (error) {
			const problem = error instanceof AttachmentProblem ? error.code : 'unreadable';
			this.#change(id, { problem, file: null });
		}
	}

	#change(id: string, fields: Partial<PendingItem>): void {
		this.items = this.items.map((item) => (item.id === id ? { ...item, ...fields } : item));
	}
}
