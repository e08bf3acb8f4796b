/** The paths of the icons, in a square of 24 units, drawn as lines of 2 units. */
export const ICONS = {
	'arrow-down': 'M12 5v14M6 13l6 6 6-6',
	'arrow-up': 'M12 19V5M6 11l6-6 6 6',
	brain: 'M9 18h6M10 21h4M8 14.5a6 6 0 1 1 8 0c-.6.6-1 1.2-1 2.1V18H9v-1.4c0-.9-.4-1.5-1-2.1z',
	check: 'M5 12.5l4.5 4.5L19 7.5',
	'chevron-down': 'M6 9l6 6 6-6',
	'chevron-left': 'M15 6l-6 6 6 6',
	'chevron-right': 'M9 6l6 6-6 6',
	clock: 'M12 7v5l3 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z',
	code: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
	copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
	edit: 'M4 20l1-4L16.5 4.5l3 3L8 19zM14 7l3 3',
	info: 'M12 11v6M12 7.5v.1M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z',
	more: 'M5 12h.01M12 12h.01M19 12h.01',
	paperclip: 'M20 11.5l-8.2 8.2a5 5 0 0 1-7-7L13 4.5a3.3 3.3 0 0 1 4.7 4.7L9.5 17.4a1.7 1.7 0 0 1-2.4-2.4l7.4-7.4',
	play: 'M7 5l12 7-12 7z',
	plus: 'M12 5v14M5 12h14',
	refresh: 'M20 11a8 8 0 1 0-2.3 6.5M20 5v6h-6',
	sliders: 'M4 7h10M18 7h2M4 17h4M12 17h8M16 5v4M10 15v4',
	stop: 'M7 7h10v10H7z',
	tool: 'M14.5 6.5a4 4 0 0 1 5-3.9l-2.6 2.6 1.9 1.9 2.6-2.6a4 4 0 0 1-5 5.4L8 18.3a2 2 0 0 1-2.8-2.8l8.5-8.4a4 4 0 0 1 .8-.6z',
	trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
	warning: 'M12 9v4M12 16.5v.1M12 3.5L2.5 20h19z',
	x: 'M6 6l12 12M18 6L6 18'
} as const;

export type IconName = keyof typeof ICONS;
