/** A text for comparing: lower case, without accents, wide and composed signs as their plain ones. */
export function fold(text: string): string {
	return text.normalize('NFKD').replace(/\p{Mark}/gu, '').toLowerCase();
}
