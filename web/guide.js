/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A guide: the colours, and a button at each block of code that copies it. */
import { copyable } from './copy.js';
import './theme.js';

document.querySelectorAll('.guide pre').forEach(copyable);
