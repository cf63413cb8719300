/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The player alone, for other pages' frames. */
import { openAsset } from './asset.js';
import { by } from './dom.js';

openAsset(by('stage'));
