const UNITS = ['kilobyte', 'megabyte'] as const;

/** A number of bytes in a language (BCP 47): `12 kB`, `3.4 MB`. */
export function sizeInWords(bytes: number, code: string): string {
	const step = bytes < 1_000_000 ? 0 : 1;
	const value = Math.max(1, bytes / (step === 0 ? 1000 : 1_000_000));
	const unit = UNITS[step] ?? 'kilobyte';
	return new Intl.NumberFormat(code, { style: 'unit', unit, maximumFractionDigits: step }).format(value);
}
