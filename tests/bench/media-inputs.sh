# SPDX-License-Identifier: GPL-3.0-or-later
# The difficult inputs of tests/bench/media.  Source it from bash.  Each is made in a work directory, as $f.  What is expected is
# `ready`, `ready, CODE` (a pattern of bash), or the code of a reason.

ff() {
	timeout 300 ffmpeg -nostdin -hide_banner -v error -y "$@"
}

# film SIZE SECONDS [arguments…], tone SECONDS [arguments…], talkie SIZE SECONDS [arguments…]: $f
film() {
	ff -f lavfi -i "testsrc2=s=$1:r=25:d=$2" -c:v libx264 -preset ultrafast -g 25 -pix_fmt yuv420p "${@:3}" "$f"
}

tone() {
	ff -f lavfi -i "sine=440:r=48000:d=$1" "${@:2}" "$f"
}

talkie() {
	ff -f lavfi -i "testsrc2=s=$1:r=25:d=$2" -f lavfi -i "sine=440:r=48000:d=$2" -c:v libx264 -preset ultrafast -g 25 \
		-pix_fmt yuv420p -c:a aac "${@:3}" "$f"
}

lavfi() {
	ff -f lavfi -i "$1" "${@:2}" "$f"
}

# Damaged copies of another input: cut NAME PERCENT, hole NAME PERCENT PERCENT (zeros), gone NAME PERCENT (a tenth is not there).
size() {
	stat -c %s "$files/$1"
}

cut_off() {
	head -c $(($(size "$1") * $2 / 100)) "$files/$1" >"$f"
}

hole() {
	cp "$files/$1" "$f"
	dd if=/dev/zero of="$f" bs=1k seek=$(($(size "$1") * $2 / 102400)) count=$(($(size "$1") * $3 / 102400)) conv=notrunc status=none
}

gone() {
	{ head -c $(($(size "$1") * $2 / 100)) "$files/$1"; tail -c +$(($(size "$1") * ($2 + 10) / 100)) "$files/$1"; } >"$f"
}

shell() {
	bash -c "$1" "$f" "$files"
}

tracks() {
	local i args=()
	for ((i = 0; i < $1; i++)); do
		args+=(-map 1:a)
	done
	talkie 160x90 3 -map 0:v "${args[@]}"
}

subtitles() {
	local i args=()
	printf '1\n00:00:00,000 --> 00:00:01,000\nWords\n' >s.srt
	for ((i = 0; i < $1; i++)); do
		args+=(-map 1)
	done
	ff -f lavfi -i testsrc2=s=160x90:r=25:d=3 -i s.srt -map 0 "${args[@]}" -c:v libx264 -preset ultrafast -c:s srt "$f"
}

chapters() {
	{
		echo ';FFMETADATA1'
		for ((i = 0; i < $1; i++)); do
			printf '[CHAPTER]\nTIMEBASE=1/1000\nSTART=%d\nEND=%d\ntitle=%s\n' $((i % 3000)) $((i % 3000 + 900)) '--> <script>alert(1)</script>'
		done
	} >chapters.txt
	ff -f lavfi -i testsrc2=s=160x90:r=25:d=4 -i chapters.txt -map 0 -map_metadata 1 -c:v libx264 -preset ultrafast "$f"
}

audiobook() {
	printf ';FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1\nSTART=0\nEND=2\ntitle=One\n[CHAPTER]\nTIMEBASE=1/1\nSTART=2\nEND=4\ntitle=Two\n' >book.txt
	ff -f lavfi -i sine=440:d=4 -f lavfi -i color=blue:s=300x300:r=1:d=1 -i book.txt -map 0 -map 1 -frames:v 1 -c:v mjpeg \
		-disposition:v attached_pic -c:a aac -map_metadata 2 -f ipod "$f"
}

# Two rates of frames, one after the other.
varying() {
	ff -f lavfi -i testsrc2=s=160x90:r=240:d=4 -vf "select='lt(t,2)+not(mod(n,80))'" -fps_mode vfr -c:v libx264 -preset ultrafast "$f"
}

# dead v|a [arguments…]: of picture or sound, nothing but noise.
dead() {
	ff -f lavfi -i testsrc2=s=320x180:r=25:d=6 -f lavfi -i sine=d=6 -c:v mpeg4 -c:a libmp3lame dead.mkv
	ff -i dead.mkv -c copy "-bsf:$1" noise=amount=1 "$f"
}

# turned DEGREES
turned() {
	ff -f lavfi -i testsrc2=s=160x90:r=25:d=1 -c:v libx264 -preset ultrafast t.mp4
	ff -display_rotation "$1" -i t.mp4 -c copy "$f" 2>/dev/null || ff -i t.mp4 -c copy -metadata:s:v "rotate=$1" "$f"
}

# Headers written by hand: what no encoder makes.
forge() {
	python3 - "$f" "$@" <<'PY'
import struct, sys, zlib
out, what = sys.argv[1:3]

def gif(width, height, frames, delay, at=(0, 0, 1, 1)):
    head = b'GIF89a' + struct.pack('<HHBBB', width, height, 0x80, 0, 0) + b'\xff\0\0\0\0\xff' + b'!\xff\x0bNETSCAPE2.0\3\1\0\0\0'
    frame = b'!\xf9\4\0' + struct.pack('<H', delay) + b'\0\0' + b',' + struct.pack('<HHHH', *at) + b'\0\2\2D\1\0'
    return head + frame * frames + b';'

def tiff(pages):
    data = bytearray(b'II*\0\x0c\0\0\0' + bytes(4))
    for i in range(pages):
        here = len(data)
        tags = [(256, 4, 1, 8), (257, 4, 1, 4), (258, 3, 1, 1), (259, 3, 1, 1), (262, 3, 1, 0), (273, 4, 1, 8), (277, 3, 1, 1),
                (278, 4, 1, 4), (279, 4, 1, 4)]
        data += struct.pack('<H', len(tags)) + b''.join(struct.pack('<HHII', *t) for t in tags)
        data += struct.pack('<I', len(data) + 4 if i + 1 < pages else 0)
    return bytes(data)

def tiff_loop():
    data = bytearray(tiff(2))
    data[-4:] = struct.pack('<I', 12)
    return bytes(data)

def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

def png(width, height):
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 1, 0, 0, 0, 0)) + \
        chunk(b'IDAT', zlib.compress(bytes(1000))) + chunk(b'IEND', b'')

files = {
    'gif-screen': lambda: gif(65000, 65000, 2, 10), 'gif-frames': lambda: gif(16, 16, 10000, 0),
    'gif-nothing': lambda: gif(16, 16, 3, 10, (0, 0, 0, 0)), 'gif-outside': lambda: gif(16, 16, 3, 10, (900, 900, 5, 5)),
    'tiff-pages': lambda: tiff(int(sys.argv[3])), 'tiff-loop': tiff_loop, 'png-screen': lambda: png(64250, 64250),
}
open(out, 'wb').write(files[what]())
PY
}

# A still picture for the tests of those that move: red, then half of it clear, with delays of their own.
flag() {
	/usr/bin/convert -size 60x40 -delay 20 xc:red -delay 100 \( xc:none -fill blue -draw 'rectangle 0,0 29,39' \) -set dispose background \
		-loop 0 "$1:$f"
}

avif() {
	ff -f lavfi -i testsrc2=s=160x90:r=10:d=2 -c:v libaom-av1 -cpu-used 8 -usage realtime "$f"
}

apng() {
	ff -f lavfi -i testsrc2=s=160x90:r=10:d=2 -plays 0 -f apng "$f"
}

webp() {
	ff -f lavfi -i testsrc2=s=160x90:r=10:d=2 -loop 0 -f webp "$f"
}

inputs() {
	# As people have them.
	input ready plain.mp4 talkie 320x180 10 -movflags +faststart
	input ready plain.mkv talkie 320x180 10
	input ready plain.ts talkie 320x180 10 -f mpegts
	input ready fragmented.mp4 talkie 320x180 10 -movflags frag_keyframe+empty_moov+default_base_moof
	input ready plain.avi lavfi testsrc2=s=160x90:r=25:d=5 -c:v mpeg4
	input ready plain.flv talkie 160x90 5
	input ready plain.webm lavfi testsrc2=s=160x90:r=25:d=3 -c:v libvpx -deadline realtime
	input ready mpeg2.mpg lavfi testsrc2=s=352x288:r=25:d=3 -c:v mpeg2video -q:v 4
	input ready old.wmv lavfi testsrc2=s=160x90:r=25:d=3 -c:v wmv2
	input ready prores.mov lavfi testsrc2=s=160x90:r=25:d=1 -c:v prores_ks -pix_fmt yuv422p10le
	input ready camera.mxf lavfi testsrc2=s=720x576:r=25:d=1 -c:v mpeg2video -pix_fmt yuv422p

	# Damaged.
	input 'ready, damaged' cut-50.mkv cut_off plain.mkv 50
	input 'ready, damaged' cut-50.mp4 cut_off plain.mp4 50
	input 'ready, damaged' cut-50-fragmented.mp4 cut_off fragmented.mp4 50
	input 'ready*' cut-50.ts cut_off plain.ts 50
	input 'ready*' cut-50.flv cut_off plain.flv 50
	input 'ready*' cut-50.avi cut_off plain.avi 50
	input 'ready*' cut-99.mp4 cut_off plain.mp4 99
	input truncated cut-1.mp4 cut_off plain.mp4 1
	input truncated cut-1.mkv cut_off plain.mkv 1
	input truncated no-index.mp4 shell 'ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=160x90:d=5 -f mp4 w && head -c 60000 w >"$0"'
	input 'ready, damaged' hole.mkv hole plain.mkv 40 20
	input 'ready, damaged' hole.mp4 hole plain.mp4 40 20
	input 'ready, damaged' hole-fragmented.mp4 hole fragmented.mp4 40 20
	input 'ready, damaged' hole.ts hole plain.ts 40 20
	input 'ready, damaged' hole.flv hole plain.flv 40 20
	input 'ready, damaged' hole.avi hole plain.avi 40 20
	input 'ready, damaged' gone.mkv gone plain.mkv 40
	input 'ready, damaged' gone.ts gone plain.ts 40
	input 'ready, damaged' half.mkv hole plain.mkv 30 50
	input 'ready, damaged' half.ts hole plain.ts 30 50
	input 'ready, damaged' half.mp4 hole plain.mp4 30 50

	input 'ready, damaged' dead-picture.mkv dead v
	input 'ready, damaged' dead-picture.ts dead v
	input 'ready, damaged' dead-sound.mkv dead a
	input 'ready, damaged' dead-sound.avi dead a

	# Times.
	input ready one-frame.mp4 lavfi testsrc2=s=160x90:r=25:d=1 -frames:v 1 -c:v libx264
	input ready no-duration.webm shell 'ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=160x90:d=2 -c:v libvpx -f webm -live 1 - >"$0"'
	input ready varying.mp4 varying
	input ready ntsc-film.mp4 lavfi testsrc2=s=160x90:r=24000/1001:d=2 -c:v libx264 -preset ultrafast
	input ready fast.mp4 lavfi testsrc2=s=160x90:r=240:d=1 -c:v libx264 -preset ultrafast
	input ready slow.mkv lavfi testsrc2=s=160x90:r=1:d=10 -c:v libx264 -preset ultrafast
	input ready 100000-fps.mkv lavfi testsrc2=s=64x64:r=100000:d=0.01 -c:v ffv1
	input ready far-start.mkv film 160x90 2 -output_ts_offset 36000
	input ready hour-gap.mkv shell 'ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=64x64:r=5:d=4 -vf "setpts=PTS+gte(T\,2)*3600/TB" -fps_mode vfr -c:v libx264 -preset ultrafast "$0"'
	input ready backwards.ts shell 'for i in 1 2; do ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=64x64:d=3 -c:v libx264 -preset ultrafast -f mpegts -; done >"$0"'
	input ready negative-start.mp4 film 160x90 2 -bf 2 -movflags negative_cts_offsets
	input ready interlaced-50i.ts lavfi testsrc2=s=720x576:r=50:d=2 -vf interlace,setfield=tff -c:v mpeg2video -flags +ilme+ildct -q:v 4 -f mpegts
	input ready late-sound.mkv ff -f lavfi -i testsrc2=s=160x90:r=25:d=4 -itsoffset 2 -f lavfi -i sine=d=2 -c:v libx264 -preset ultrafast "$files/late-sound.mkv"

	# Pictures of films.
	input ready portrait.mp4 talkie 360x640 2
	input ready odd.mkv lavfi testsrc2=s=162x92:r=25:d=1,crop=161:91 -c:v ffv1 -pix_fmt yuv444p
	input ready full-chroma.mp4 lavfi testsrc2=s=160x90:r=25:d=1 -c:v libx264 -preset ultrafast -pix_fmt yuv444p
	input ready ten-bit.mkv lavfi testsrc2=s=160x90:r=25:d=1 -c:v libx264 -preset ultrafast -pix_fmt yuv422p10le
	input ready hdr10.mp4 lavfi testsrc2=s=320x180:r=25:d=1,format=yuv420p10le -c:v libx265 -preset ultrafast -x265-params \
		log-level=error:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:max-cll=10000,10000
	input ready hlg.mp4 lavfi testsrc2=s=320x180:r=25:d=1,format=yuv420p10le -c:v libx265 -preset ultrafast -x265-params \
		log-level=error:colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc
	input ready alpha.mov lavfi color=red@0.5:s=160x90:r=25:d=1,format=rgba -c:v qtrle
	input ready wide-pixels.mkv film 160x90 1 -vf setsar=1000/1
	input ready dot.mkv lavfi color=red:s=16x16:r=25:d=1,format=yuv444p,crop=1:1 -c:v ffv1
	input ready line.mkv lavfi testsrc2=s=16384x2:r=5:d=1 -c:v ffv1
	input too_many_pixels huge.mkv lavfi color=red:s=16384x8192:r=1:d=2 -c:v ffv1
	input ready turned-90.mp4 turned 90
	input ready turned-180.mp4 turned 180
	input ready turned-45.mp4 turned 45
	input ready size-changes.ts shell 'for s in 160x90 320x180; do ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=$s:d=2 -c:v libx264 -preset ultrafast -f mpegts -; done >"$0"'
	input codec_not_allowed magicyuv.avi lavfi testsrc2=s=160x90:r=25:d=1 -c:v magicyuv

	# Sound, tracks, words.
	input 'ready*' many-tracks.mkv tracks 40
	input ready two-tracks.mp4 tracks 2
	input 'ready*' subtitles.mkv subtitles 3
	input 'ready*' many-subtitles.mkv subtitles 200
	input 'ready*' many-chapters.mkv chapters 10000
	input 'ready*' chapters.mp4 chapters 5
	input ready book.m4b audiobook
	input ready cover.mp3 ff -f lavfi -i sine=d=2 -f lavfi -i color=blue:s=64x64:r=1:d=1 -map 0 -map 1 -frames:v 1 -c:v mjpeg \
		-disposition:v attached_pic -c:a libmp3lame "$files/cover.mp3"
	input ready telephone.wav lavfi sine=r=8000:d=2 -c:a pcm_mulaw
	input ready mono-8k.mp4 lavfi sine=r=8000:d=2 -ac 1 -c:a aac
	input ready studio.flac lavfi sine=r=192000:d=1
	input ready fast.wav lavfi sine=r=384000:d=1
	input ready six-channels.mp4 lavfi 'sine=d=1,pan=5.1|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0' -c:a aac
	input ready twelve-channels.mkv lavfi 'aevalsrc=0.1|0.1|0|0|0|0|0|0|0|0|0|0:d=1' -c:a pcm_s16le
	input ready silence.wav lavfi anullsrc=d=2
	input ready rate-changes.aac shell 'for r in 44100 22050; do ffmpeg -v error -nostdin -y -f lavfi -i sine=r=$r:d=2 -c:a aac -f adts -; done >"$0"'
	input 'ready*' cut-50.mp3 shell 'ffmpeg -v error -nostdin -y -f lavfi -i sine=d=6 -c:a libmp3lame w.mp3 && head -c 30000 w.mp3 >"$0"'
	input no_streams words-only.mkv shell 'printf "1\n00:00:00,000 --> 00:00:01,000\nx\n" >s.srt; ffmpeg -v error -nostdin -y -i s.srt "$0"'

	# Pictures that move.
	input ready flag.gif flag gif
	input ready flag.webp flag webp
	input ready plain.gif lavfi testsrc2=s=160x90:r=10:d=2
	input ready moving.webp webp
	input ready moving.avif avif
	input ready moving.png apng
	input ready hasty.png lavfi testsrc2=s=160x90:r=60000:d=0.0002 -plays 0 -f apng
	input too_many_pixels screen.gif forge gif-screen
	input 'ready, shortened' 10000-frames.gif forge gif-frames
	input '@(ready|decode_failed|truncated)' nothing.gif forge gif-nothing
	input '@(ready|decode_failed|truncated)' outside.gif forge gif-outside
	input '@(ready*|truncated)' cut.gif cut_off plain.gif 60
	input '@(ready*|truncated|decode_failed)' cut.webp cut_off moving.webp 60

	# Pictures, documents.
	input ready page.tif shell '/usr/bin/convert -size 300x200 plasma: "tiff:$0"'
	input ready pages.tif shell '/usr/bin/convert -size 300x200 plasma: \( -size 200x300 xc:gray \) xc:red "tiff:$0"'
	input ready 100-pages.tif forge tiff-pages 100
	input too_many_pages 10000-pages.tif forge tiff-pages 10000
	input ready loop.tif forge tiff-loop
	input too_many_pixels screen.png forge png-screen
	input ready cmyk.jpg shell '/usr/bin/convert -size 300x200 plasma: -colorspace CMYK "jpeg:$0"'
	input truncated cut.jpg shell '/usr/bin/convert -size 900x900 plasma: jpeg:- | head -c 30000 >"$0"'
	input truncated cut.pdf shell 'printf "%%PDF-1.4\n1 0 obj<<" >"$0"'
	input ready words.txt shell 'echo Words >"$0"'

	# Not what they are called.
	input too_small empty.mp4 shell ': >"$0"'
	input unknown_format one-byte.mp4 shell 'printf "\1" >"$0"'
	input ready text.mp4 shell 'echo "A text, renamed." >"$0"'
	input ready film.jpg shell 'cp "$1/plain.mp4" "$0"'
	input ready picture.mp4 shell '/usr/bin/convert -size 300x200 plasma: "jpeg:$0"'
	input unknown_format zeros.mp4 shell 'truncate -s 1M "$0"'
	input format_not_allowed playlist.mp4 shell 'printf "#EXTM3U\n#EXTINF:9,\nfile:///etc/passwd\n" >"$0"'
	input format_not_allowed script.mp4 shell 'printf "ffconcat version 1.0\nfile /etc/passwd\n" >"$0"'
	input format_not_allowed page.mp4 shell 'printf "<!DOCTYPE html><p>x" >"$0"'
	input format_not_allowed program.mp4 shell 'cp /bin/true "$0"'
	input format_not_allowed drawing.png shell 'printf "<svg xmlns=\"http://www.w3.org/2000/svg\"/>" >"$0"'
}
