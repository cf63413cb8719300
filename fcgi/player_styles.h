/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Style sheets that the elements of media-chrome bring into a page as <style>; tests/e2e/browser compares the list with
 * what a browser asks for, and prints what it should be. */
#ifndef FCGI_PLAYER_STYLES_H
#define FCGI_PLAYER_STYLES_H

#define PLAYER_STYLES \
	"'sha256-+XYYAhYtiUsaw0+wUtfcBE3yMARPO4zdUhZGkDgDohM=' " \
	"'sha256-1Jc+kPhfOh4UvXYTCgDHEAV3Caafvsf5jeNdPbSiQ8o=' " \
	"'sha256-3mr12lsHkByBAuT5HIjiVaMHjH42rxTHchQEttT3yhE=' " \
	"'sha256-5LsYGeD4Fwu+AtlpdRPSk6g18GLvHddLqx5a2hMGkpw=' " \
	"'sha256-C7t4uFhGErrgCiy7sp4fN8QAsq2Xafh4lWfnefi0l/E=' " \
	"'sha256-CZ8hU2wFQkJQTP3Dj2nl5E530al0uN4149GNCvQZTDE=' " \
	"'sha256-LLrbL3VRTSpcR7f/VRuhdwB3hQdbFqJkzjoEZmHBXIw=' " \
	"'sha256-VJnVbqNRyX0jCFZEJ4ltrffJx26lCuyVbNYdioxBwzQ=' " \
	"'sha256-W9200sCekROkcax0iJ77FC7fL1XmtkKZFU4jWBgOGi0=' " \
	"'sha256-ad5pLE4ykOnAn8/VmRayKdKPhP3pvqoX4MGy3EktnBg=' " \
	"'sha256-icRYLLVSVG1RE2ze2JPpc2di/XuMtAkqJdem5GFjU5M=' " \
	"'sha256-l0oXN8ELODFEFGnJztGBqT5qrnYVXGDHmO9UVWjtMXA=' " \
	"'sha256-m+frfzRQalnJwRN07WZLWSWd4eM4WsynbWp5qQi8Or0=' " \
	"'sha256-sAS/YwJd8QhcsuwF6ji1l+uwVdgQ8O/zcjWaGi0VXSw=' " \
	"'sha256-ybkwgORVaNpgfHWjB4yaZjEyg46ZMdeyLM32opbKlpo='"

#endif
