/** So long a browser may take to begin the download. */
const KEPT_MS = 60_000;

/** Offer a file that the page has made as a download. */
export function saveFile(content: Blob, name: string): void {
	const link = document.createElement('a');
	link.href = URL.createObjectURL(content);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
