/**
 * Put a text on the clipboard. Returns whether the browser did it.
 *
 * `navigator.clipboard` exists on https and loopback only; elsewhere (a platform in one's own network) a selected text field
 * does the same.
 */
export async function copyText(text: string): Promise<boolean> {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return copySelected(text);
	}
}

function copySelected(text: string): boolean {
	const active = document.activeElement;
	const field = document.createElement('textarea');
	field.value = text;
	field.readOnly = true;
	field.className = 'sr-only';
	// inside an open dialog, else the dialog keeps the focus
	(active?.closest('dialog') ?? document.body).append(field);
	field.select();
	let isCopied = false;
	try {
		isCopied = document.execCommand('copy');
	} catch {
		// the browser refuses it
	}
	field.remove();
	if (active instanceof HTMLElement) active.focus({ preventScroll: true });
	return isCopied;
}
