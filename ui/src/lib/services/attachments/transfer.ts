import { LIMITS } from './limits';
import { textFile } from './prepare';

/** A pasted text of so many characters becomes a document: the message stays readable. */
const LONG_TEXT = 10_000;

/** The files of a drop or a paste; none if it has a text, too: a program gives a picture beside the text that is meant. */
export function filesOf(transfer: DataTransfer | null): File[] {
	if (!transfer || transfer.types.includes('text/plain')) return [];
	return [...transfer.files].slice(0, LIMITS.files + 1);
}

/**
 * Attach what is pasted, if it has files or is a long text: then the text field does not get it.
 *
 * @param name of the document that a long text becomes
 */
export function takePaste(event: ClipboardEvent, pending: { add(files: File[]): unknown }, name: string): void {
	const files = filesOf(event.clipboardData);
	const text = event.clipboardData?.getData('text/plain') ?? '';
	if (files.length === 0 && text.length >= LONG_TEXT) files.push(textFile(text, name));
	if (files.length === 0) return;
	event.preventDefault();
	pending.add(files);
}
