const UUID = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** The id of an item that holds a message, or a part of it. */
export function itemId(prefix: 'msg' | 'rs' | 'fc' | 'fco', message: string, part?: number): string {
	const key = message.replace(/[^A-Za-z0-9]/g, '').slice(-56).padStart(8, '0');
	return `${prefix}_${key}${part === undefined ? '' : `-${part}`}`;
}

/** The id of the message that an item holds: the UUID of its digits, or else the item's own id. */
export function messageId(item: string): string {
	const parts = UUID.exec(item.slice(item.indexOf('_') + 1));
	return parts ? parts.slice(1).join('-') : item;
}

/** A UUID as the browser makes it. */
export function isUuid(text: unknown): text is string {
	return typeof text === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
