/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The settings: one table, read from a file and the environment, and the reference printed from it. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "core/arena.h"
#include "core/conf.h"
#include "core/mail.h"
#include "core/setting.h"
#include "core/text.h"

#ifndef KINOTHEK_CONF_FILE
#define KINOTHEK_CONF_FILE "/etc/kinothek/kinothek.conf"
#endif

#define AT(member) offsetof(struct conf, member)
#define CHOICE(family, name) " " #name
#define TYPE_CHOICE(name) " " #name

static const struct setting settings[] = {
	{ "public_url", AS_ORIGIN, AT(public_url), "http://localhost", 0, 200, NULL, NULL,
	    "Address at which clients reach this installation, without a path and without a slash at its end. Tokens "
	    "name it as their issuer, so changing it makes every token that was given out invalid." },
	{ "data_dir", AS_PATH, AT(data_dir), "/var/lib/kinothek", 0, 512, NULL, NULL,
	    "Where media bytes are kept, or with store = s3 only received. All web nodes and job runners share it." },
	{ "store", AS_CHOICE, AT(store), "local", 0, 0, "local s3", NULL,
	    "Where media bytes are kept: in data_dir, or in a bucket of an object store that speaks S3 (Amazon S3, Ceph RGW, MinIO and "
	    "others), which gives them to players itself." },
	{ "store.also", AS_CHOICE, AT(store_also), NULL, 0, 0, "local s3", NULL,
	    "The other store, where objects are looked for, too, while `kinothek store` moves them. Nothing: there is one store." },
	{ "store.endpoint", AS_ORIGIN, AT(store_endpoint), NULL, 0, 200, NULL, NULL,
	    "Address of the object store as this machine reaches it; it may be a private one. Buckets are named in the path." },
	{ "store.public_endpoint", AS_ORIGIN, AT(store_public_endpoint), NULL, 0, 200, NULL, NULL,
	    "Where players and browsers reach the object store, which gives them media itself; left out: at store.endpoint." },
	{ "store.bucket", AS_TEXT, AT(store_bucket), NULL, 0, 63, "a-z, 0-9, - and .", NULL,
	    "Bucket, which must be there, and in which only this installation writes below store.prefix." },
	{ "store.region", AS_TEXT, AT(store_region), "us-east-1", 0, 50, NULL, NULL,
	    "Region that requests are signed for. Stores that have none take the default." },
	{ "store.key", AS_TEXT, AT(store_key), NULL, 0, 128, NULL, NULL, "Access key; it may read, write, list and delete there." },
	{ "store.secret_file", AS_SECRET, AT(store_secret), NULL, 0, 0, NULL, NULL,
	    "File whose first line is the secret of store.key." },
	{ "store.prefix", AS_TEXT, AT(store_prefix), NULL, 0, 100, "ends in a slash", NULL,
	    "What all keys begin with, where the bucket holds other things, too." },
	{ "scratch_dir", AS_PATH, AT(scratch_dir), NULL, 0, 512, NULL, NULL,
	    "Where jobs keep files that only they need, each machine below a name of its own, of this installation alone; it must be there. Results "
	    "are moved from here to data_dir, which is fastest on the same file system. Nothing: work below data_dir." },
	{ "web_dir", AS_PATH, AT(web_dir), NULL, 0, 512, NULL, NULL,
	    "The pages' scripts and styles, which the web server sends. Nothing: where they were installed." },
	{ "run_dir", AS_PATH, AT(run_dir), "/run/kinothek", 0, 70, NULL, NULL,
	    "Sockets of the programs of this machine. Short, because socket addresses are." },
	{ "free_space", AS_SIZE, AT(free_space), "1G", 0, INT64_C(1) << 50, NULL, NULL,
	    "Bytes that stay free on data_dir and on scratch_dir; uploads, jobs and livestreams that would use them are refused. "
	    "A livestream that is sent already may take half of them." },
	{ "sandbox", AS_CHOICE, AT(sandbox), "strict", 0, 0, "strict degraded", NULL,
	    "What to do on a machine that cannot isolate decoders: strict runs none of them, degraded runs them with "
	    "the limits it has. `kinothek doctor` tells what this machine can do." },
	{ "log_level", AS_CHOICE, AT(log_level), "info", 0, 0, "debug info warn error", NULL,
	    "Lines below this level are not written." },
	{ "log.format", AS_CHOICE, AT(log_format), "text", 0, 0, "text json", NULL,
	    "Lines of the log as key=value, or each as an object of JSON." },

	{ "db.hosts", AS_LIST, AT(db_hosts), NULL, 0, 1000, "host or host:port, comma-separated", setting_server,
	    "Database servers, at most 16, tried in this order; one that has just failed comes last. Nothing: the "
	    "socket." },
	{ "db.socket", AS_PATH, AT(db_socket), "/run/mysqld/mysqld.sock", 0, 107, NULL, NULL,
	    "Socket of a database server on this machine; not used with db.hosts." },
	{ "db.port", AS_INT, AT(db_port), "3306", 1, 65535, NULL, NULL, "Port of the hosts that name none." },
	{ "db.user", AS_TEXT, AT(db_user), "kinothek", 0, 80, NULL, NULL, "Account of the database." },
	{ "db.password_file", AS_SECRET, AT(db_password), NULL, 0, 0, NULL, NULL,
	    "File whose first line is the password of db.user. Nothing: no password (socket authentication)." },
	{ "db.name", AS_TEXT, AT(db_name), "kinothek", 0, 64, NULL, NULL, "Name of the database." },
	{ "db.sync_wait", AS_CHOICE, AT(db_sync_wait), "reads", 0, 0, "off reads all", NULL,
	    "In a Galera cluster: what waits until the server has all that was done on the others before. Without it "
	    "a client may not find what it has just made, when it asks through another server." },
	{ "db.statement_limit", AS_INT, AT(db_statement_limit), "2", 1, 60, "seconds", NULL,
	    "How long one statement may take for a request. What takes longer is cut off and answered with 503 "
	    "too_expensive." },
	{ "db.job_statement_limit", AS_INT, AT(db_job_statement_limit), "60", 5, 3600, "seconds", NULL,
	    "The same for jobs and uploads, which begin again. The commands of `kinothek` have no limit." },

	{ "http.require_https", AS_BOOL, AT(require_https), "yes", 0, 0, NULL, NULL,
	    "Refuse requests over plain HTTP unless they come from this machine." },
	{ "http.trusted_proxies", AS_LIST, AT(trusted_proxies), NULL, 0, 1000,
	    "addresses or networks such as 10.0.0.0/8, comma-separated", setting_network,
	    "Proxies whose X-Forwarded-Proto and X-Forwarded-For are believed." },
	{ "cors.origins", AS_LIST, AT(cors_origins), NULL, 0, 4000, "origins such as https://example.org, or *, comma-separated",
	    setting_origin,
	    "Origins whose web pages may call the interface, beside those that a tenant names for itself; * for all." },

	{ "limit.client", AS_INT, AT(limit_client), "60000", 0, 10000000, "requests a minute, 0 for no limit", NULL,
	    "How many requests of one client are answered, all its users together: as many at once, and then evenly. This and the other "
	    "limits hold on each machine by itself." },
	{ "limit.user", AS_INT, AT(limit_user), "12000", 0, 10000000, "requests a minute, 0 for no limit", NULL,
	    "The same for one user, whichever client it uses." },
	{ "limit.address", AS_INT, AT(limit_address), "6000", 0, 10000000, "requests a minute, 0 for no limit", NULL,
	    "The same for one address (of IPv6: a network of 64 bits), for what comes without a good token: pages, and what is refused." },
	{ "limit.token", AS_INT, AT(limit_token), "600", 0, 10000000, "requests a minute, 0 for no limit", NULL,
	    "The same for one address that asks for tokens." },
	{ "limit.signin", AS_INT, AT(limit_signin), "120", 0, 10000000, "requests a minute, 0 for no limit", NULL,
	    "The same for one address, for forms that people sign in with. How often a password may be wrong is not set here." },
	{ "limit.local", AS_BOOL, AT(limit_local), "no", 0, 0, NULL, NULL,
	    "Count requests of this machine itself, too. They come from its own programs, or through a proxy that http.trusted_proxies "
	    "should name." },

	{ "play.key_file", AS_PLAY_KEY, AT(play_key), "/etc/kinothek/play.key", 0, 0, "a file of 64 hex digits", NULL,
	    "Key that signs addresses of deliverable files, shared with the web server. `kinothek init` makes it." },
	{ "play.lifetime", AS_INT, AT(play_lifetime), "21600", 600, 604800, "seconds", NULL,
	    "How long a signed address works at least." },

	{ "upload.lifetime", AS_INT, AT(upload_lifetime), "86400", 60, 2592000, "seconds", NULL,
	    "An upload that received no byte for so long is dropped." },
	{ "upload.max_size", AS_SIZE, AT(upload_max_size), "100G", 1, INT64_C(1) << 44, NULL, NULL, "Largest file taken." },
	{ "upload.open_max", AS_INT, AT(upload_open_max), "4000", 2, 1000000, NULL, NULL,
	    "Uploads of a tenant that may be open at a time: announced, on their way, or received and not completed. One "
	    "principal may have half of them." },
	{ "upload.reserved_max", AS_SIZE, AT(upload_reserved_max), "2T", 2, INT64_C(1) << 50, NULL, NULL,
	    "Bytes of a tenant's open uploads in all when one more is announced: as declared, or as received where nothing was. "
	    "One principal may have half of them; the first upload is always taken." },

	{ "events.streams_max", AS_INT, AT(streams_max), "4000", 2, 100000, NULL, NULL,
	    "Streams of events of a tenant that one `kinothek-events` keeps open. One principal may have half of them." },

	{ "live.url", AS_TEXT, AT(live_url), NULL, 0, 300, NULL, NULL,
	    "Where encoders send livestreams to by RTMP, such as rtmps://live.example.org/live. Nothing: rtmp://, the host of public_url "
	    "and /live, and with live.rtmps_listen rtmps:// with its port." },
	{ "live.second_url", AS_TEXT, AT(live_second_url), NULL, 0, 300, NULL, NULL,
	    "The same for the second address of each, which takes over when the first one falls silent. Nothing: live.url." },
	{ "live.srt_url", AS_TEXT, AT(live_srt_url), NULL, 0, 300, NULL, NULL,
	    "Where encoders send livestreams to by SRT, such as srt://live.example.org:9000. Nothing: srt://, the host of "
	    "public_url and the port of live.srt_listen; without that no SRT is taken." },
	{ "live.srt_second_url", AS_TEXT, AT(live_srt_second_url), NULL, 0, 300, NULL, NULL,
	    "The same for the second address of each. Nothing: that of the first." },
	{ "live.rtmp_listen", AS_LIST, AT(live_rtmp_listen), NULL, 0, 1000, "host:port, comma-separated", setting_server,
	    "Addresses at which `kinothek-live` takes encoders by RTMP, where no socket of systemd is handed to it, such as 0.0.0.0:1935." },
	{ "live.rtmps_listen", AS_LIST, AT(live_rtmps_listen), NULL, 0, 1000, "host:port, comma-separated", setting_server,
	    "The same by TLS, such as 0.0.0.0:1936. A socket of systemd that has one of these ports speaks TLS. Nothing: none does." },
	{ "live.certificate", AS_PATH, AT(live_certificate), NULL, 0, 512, NULL, NULL,
	    "Certificate of live.rtmps_listen in PEM, with those between it and its authority behind it. `kinothek-live` reads it and "
	    "its key again within seconds of a change; encoders that send go on." },
	{ "live.certificate_key", AS_PATH, AT(live_certificate_key), NULL, 0, 512, NULL, NULL,
	    "Its key, without a pass phrase, which the user of `kinothek-live` may read." },
	{ "live.srt_listen", AS_TEXT, AT(live_srt_listen), NULL, 0, 300, NULL, NULL,
	    "Address at which `kinothek-live` takes encoders by SRT, such as 0.0.0.0:9000. Nothing: it takes none." },
	{ "live.waiters", AS_INT, AT(live_waiters), "4000", 1, 100000, NULL, NULL,
	    "Requests of viewers of livestreams that one `kinothek-live` lets wait for what comes next: two for each of them, and "
	    "half of them from one address. More are told to try again." },
	{ "live.ladder", AS_CHOICE, AT(live_ladder), "auto", 0, 0, "auto yes no", NULL,
	    "Whether `kinothek-live` makes smaller pictures of livestreams, of 720 and 360 lines, by FFmpeg: auto where more than 480 "
	    "lines and 1.5 Mbit/s come in, once more than half a core is free, and of HEVC and AV1, which not every browser plays, "
	    "yes always, no never." },
	{ "live.captions", AS_BOOL, AT(live_captions), "no", 0, 0, NULL, NULL,
	    "Whether livestreams may have captions while they last, by the engine that engine.transcribe names: one of this machine takes "
	    "a fifth of a core and more for each, one of a server a request for each stretch of speech of eight seconds at most." },
	{ "live.private_hosts", AS_LIST, AT(live_private_hosts), NULL, 0, 1000, "host or host:port, comma-separated", setting_any,
	    "Servers on private addresses that livestreams may be sent on to." },

	{ "video.rungs", AS_LIST, AT(video_rungs), "1080,720,360", 0, 100, "even heights from 144 to 4320, comma-separated",
	    setting_rung, "Heights of the renditions of a video; none is larger than the original." },
	{ "video.preset", AS_CHOICE, AT(video_preset), "veryfast", 0, 0,
	    "ultrafast superfast veryfast faster fast medium slow slower veryslow", NULL,
	    "Preset of x264: slower ones make smaller files and take longer." },
	{ "video.fields", AS_BOOL, AT(video_fields), "yes", 0, 0, NULL, NULL,
	    "Make a frame of each field of interlaced video, so that 50i becomes 50p in all renditions but the lowest of several: "
	    "motion stays smooth. No: half as many frames, and about half the work." },
	{ "video.segment_seconds", AS_INT, AT(segment_seconds), "4", 1, 30, "seconds", NULL,
	    "Length of the segments of HLS renditions." },
	{ "image.max_pixels", AS_INT, AT(image_max_pixels), "200000000", 10000, 4000000000, "pixels", NULL,
	    "Largest picture that is decoded." },
	{ "document.max_pages", AS_INT, AT(document_max_pages), "2000", 1, 100000, NULL, NULL,
	    "Longest document that is read." },
	{ "document.read_pages", AS_INT, AT(document_read_pages), "500", 0, 100000, NULL, NULL,
	    "Pages of a document without a text of their own, such as scanned ones, that are read as pictures (engine.ocr); in half "
	    "an hour at most. Each takes about a second of a processor." },

	{ "job.slots", AS_INT, AT(job_slots), "2", 0, 256, NULL, NULL,
	    "Encodes that this machine runs at the same time; beside them half as many analyses, as many short steps and "
	    "captions of livestreams (at least two of each), eight steps that other servers do, and four imports. 0: one per processor core." },
	{ "job.lease", AS_INT, AT(job_lease), "60", 5, 3600, "seconds", NULL,
	    "A job whose runner was not heard of for so long is given to another one." },
	{ "job.kinds", AS_LIST, AT(job_kinds), NULL, 0, 1000, "kinds of `kinothek job list`, comma-separated", setting_any,
	    "Kinds of jobs this machine takes. Nothing: all." },
	{ "scrub.days", AS_INT, AT(scrub_days), "30", 0, 3650, "days, 0 for never", NULL,
	    "Originals that were not read for so long are read again and compared with what came, so that a disk that forgets "
	    "is found while there are backups." },
	{ "scrub.rate", AS_SIZE, AT(scrub_rate), "16M", 1 << 16, INT64_C(1) << 40, NULL, NULL,
	    "Bytes a second that this takes from the disk at most." },

	{ "engine.transcribe", AS_CHOICE, AT(engine[ENGINE_transcribe].name), "pocketsphinx", 0, 0,
	    &TRANSCRIBE_ENGINES(CHOICE)[1], NULL,
	    "What turns speech into words: the built-in engine (clean English only), a server that speaks the "
	    "transcription interface of OpenAI, or sherpa-onnx with a neural model on this machine." },
	{ "engine.transcribe.others", AS_LIST, AT(engine[ENGINE_transcribe].others), NULL, 0, 1000,
	    "names of engines, perhaps with a model behind a colon, comma-separated", setting_model,
	    "Further engines that tenants may choose for themselves (engines.transcribe), each with its model behind a "
	    "colon if it needs one: \"pocketsphinx\", \"http:large-v3\", \"sherpa:/srv/model\". Any tenant may choose none." },
	{ "engine.transcribe.url", AS_URL, AT(engine[ENGINE_transcribe].url), NULL, 0, 1000, NULL, NULL,
	    "Address of that server; a bare host, or one that ends in /v1, gets the usual path." },
	{ "engine.transcribe.key_file", AS_SECRET, AT(engine[ENGINE_transcribe].key), NULL, 0, 0, NULL, NULL,
	    "File whose first line is the key that is sent to it." },
	{ "engine.transcribe.model", AS_TEXT, AT(engine[ENGINE_transcribe].model), NULL, 0, 200, NULL, NULL,
	    "Model that is asked for. With the built-in engine and with sherpa: directory of the model." },
	{ "engine.transcribe.type", AS_CHOICE, AT(engine[ENGINE_transcribe].type), "whisper", 0, 0,
	    &SHERPA_TYPES(TYPE_CHOICE)[1], NULL,
	    "What kind of model it is, for sherpa. `kinothek doctor` names the files that it consists of, and tries it." },
	{ "engine.transcribe.languages", AS_LIST, AT(engine[ENGINE_transcribe].languages), NULL, 0, 1000,
	    "languages as in BCP 47, comma-separated", setting_any,
	    "Languages that the model for sherpa knows; others are refused instead of heard as nonsense. Nothing: any." },
	{ "engine.transcribe.timeout", AS_INT, AT(engine[ENGINE_transcribe].timeout), "600", 1, 86400, "seconds", NULL,
	    "How long one request may take." },
	{ "engine.punctuate", AS_CHOICE, AT(engine[ENGINE_punctuate].name), "none", 0, 0,
	    "none" PUNCTUATE_ENGINES(CHOICE), NULL,
	    "What puts marks between the words of engines that give none: nothing, so that rules do by pauses and, in English, a "
	    "language model, or sherpa-onnx with a neural model on this machine; rules do where that fails, and write names large." },
	{ "engine.punctuate.model", AS_PATH, AT(engine[ENGINE_punctuate].model), NULL, 0, 200, NULL, NULL,
	    "Model that puts in marks, for sherpa: a file of a CT-Transformer in ONNX, or a directory with one." },
	{ "engine.punctuate.languages", AS_LIST, AT(engine[ENGINE_punctuate].languages), "zh,en", 0, 1000,
	    "languages as in BCP 47, comma-separated", setting_any,
	    "Languages that it knows; texts in others are left to the rules." },
	{ "engine.translate", AS_CHOICE, AT(engine[ENGINE_translate].name), "apertium", 0, 0,
	    "none" TRANSLATE_ENGINES(CHOICE), NULL,
	    "What makes English of a transcript where the engine that listens makes none: nothing, or Apertium, for the languages "
	    "whose packages are installed (apertium-eng-spa for Spanish). It says what something is about, and is marked so." },
	{ "engine.translate.others", AS_LIST, AT(engine[ENGINE_translate].others), NULL, 0, 1000,
	    "names of engines, perhaps with a model behind a colon, comma-separated", setting_model,
	    "Further engines that tenants may choose for themselves (engines.translate). Any tenant may choose none." },
	{ "engine.diarize", AS_CHOICE, AT(engine[ENGINE_diarize].name), "mixtures", 0, 0,
	    &DIARIZE_ENGINES(CHOICE)[1], NULL,
	    "What tells voices apart, for tenants that want it (speakerRecognition): the built-in engine, or sherpa-onnx with neural "
	    "models on this machine, engine.diarize.model and engine.voiceprint.model." },
	{ "engine.diarize.others", AS_LIST, AT(engine[ENGINE_diarize].others), NULL, 0, 1000,
	    "names of engines, perhaps with a model behind a colon, comma-separated", setting_model,
	    "Further engines that tenants may choose for themselves (engines.diarize): \"mixtures\", or \"sherpa:/srv/model\", which "
	    "needs engine.voiceprint.model, too. Any tenant may choose none." },
	{ "engine.diarize.model", AS_PATH, AT(engine[ENGINE_diarize].model), NULL, 0, 200, NULL, NULL,
	    "Model that finds turns, for sherpa: a file of a pyannote segmentation model in ONNX, or a directory with one." },
	{ "engine.voiceprint", AS_CHOICE, AT(engine[ENGINE_voiceprint].name), "mixtures", 0, 0,
	    &VOICEPRINT_ENGINES(CHOICE)[1], NULL,
	    "What knows voices again that people have named in other assets, for the same tenants: the built-in engine, or sherpa-onnx "
	    "with a neural model on this machine. Prints of different engines or models are never compared: after a change voices "
	    "stay, but are known by none until somebody who was named is heard again (make speakers of such an asset anew)." },
	{ "engine.voiceprint.others", AS_LIST, AT(engine[ENGINE_voiceprint].others), NULL, 0, 1000,
	    "names of engines, perhaps with a model behind a colon, comma-separated", setting_model,
	    "Further engines that tenants may choose for themselves (engines.voiceprint): \"mixtures\", or \"sherpa:/srv/model\", "
	    "which have their own limits of likeness. Any tenant may choose none." },
	{ "engine.voiceprint.model", AS_PATH, AT(engine[ENGINE_voiceprint].model), NULL, 0, 200, NULL, NULL,
	    "Model that compares voices, for sherpa: a file in ONNX (WeSpeaker, 3D-Speaker, NeMo), or a directory with one." },
	{ "engine.voiceprint.same", AS_INT, AT(engine[ENGINE_voiceprint].same), NULL, 1, 100, "percent", NULL,
	    "How alike a voice is to one that is known, as the cosine of their prints, from where on it gets the name without being "
	    "asked. Nothing: 55 for the built-in engine, as measured by tests/bench/voices, and 60 for sherpa, as in its own example "
	    "of knowing speakers: models differ." },
	{ "engine.voiceprint.maybe", AS_INT, AT(engine[ENGINE_voiceprint].maybe), NULL, 1, 100, "percent", NULL,
	    "From where on people are asked whether it is the same voice. Nothing: 40 for the built-in engine, and 45 for sherpa." },
	{ "engine.ocr", AS_CHOICE, AT(engine[ENGINE_ocr].name), "tesseract", 0, 0,
	    &OCR_ENGINES(CHOICE)[1], NULL,
	    "What reads the text on pictures, slides and screens." },
	{ "engine.ocr.languages", AS_LIST, AT(engine[ENGINE_ocr].languages), "eng,deu", 0, 200,
	    "languages as models of tesseract are called, comma-separated", setting_any,
	    "Languages that it looks for, beside that of the asset. Each needs its package, tesseract-ocr-deu for deu." },
	{ "engine.ocr.timeout", AS_INT, AT(engine[ENGINE_ocr].timeout), "300", 1, 3600, "seconds", NULL,
	    "How long one picture may take to be read. A page of a document or a moment of a film that takes longer is left "
	    "out, and named among the warnings of the asset." },
	{ "engine.vision", AS_CHOICE, AT(engine[ENGINE_vision].name), "none", 0, 0,
	    "none" VISION_ENGINES(CHOICE), NULL,
	    "What tells things, actions and kinds of scenes on pictures: nothing, or a server that speaks the chat interface of OpenAI and "
	    "takes pictures (vLLM, Ollama, llama.cpp and others), which is sent one of each scene." },
	{ "engine.vision.others", AS_LIST, AT(engine[ENGINE_vision].others), NULL, 0, 1000,
	    "names of engines, perhaps with a model behind a colon, comma-separated", setting_model,
	    "Further engines that tenants may choose for themselves (engines.vision). Any tenant may choose none." },
	{ "engine.vision.url", AS_URL, AT(engine[ENGINE_vision].url), NULL, 0, 1000, NULL, NULL,
	    "Address of that server; a bare host, or one that ends in /v1, gets the usual path." },
	{ "engine.vision.key_file", AS_SECRET, AT(engine[ENGINE_vision].key), NULL, 0, 0, NULL, NULL,
	    "File whose first line is the key that is sent to it." },
	{ "engine.vision.model", AS_TEXT, AT(engine[ENGINE_vision].model), NULL, 0, 200, NULL, NULL,
	    "Model that is asked for." },
	{ "engine.vision.timeout", AS_INT, AT(engine[ENGINE_vision].timeout), "120", 1, 3600, "seconds", NULL,
	    "How long one request, of four pictures at most, may take." },
	{ "engine.vision.daily_tokens", AS_INT, AT(engine[ENGINE_vision].daily_tokens), "1000000", 0, INT32_MAX, NULL, NULL,
	    "Tokens that each tenant may use in a day (UTC), as the server counts them; 0: any number." },
	{ "engine.complete", AS_CHOICE, AT(engine[ENGINE_complete].name), "none", 0, 0,
	    "none" COMPLETE_ENGINES(CHOICE), NULL,
	    "What writes texts, such as summaries: nothing, so that they are made of what is said in assets, word by word, or a server "
	    "that speaks the chat interface of OpenAI (vLLM, Ollama, llama.cpp and others), which is sent what is said in assets." },
	{ "engine.complete.others", AS_LIST, AT(engine[ENGINE_complete].others), NULL, 0, 1000,
	    "names of engines, perhaps with a model behind a colon, comma-separated", setting_model,
	    "Further engines that tenants may choose for themselves (engines.complete). Any tenant may choose none." },
	{ "engine.complete.url", AS_URL, AT(engine[ENGINE_complete].url), NULL, 0, 1000, NULL, NULL,
	    "Address of that server; a bare host, or one that ends in /v1, gets the usual path." },
	{ "engine.complete.key_file", AS_SECRET, AT(engine[ENGINE_complete].key), NULL, 0, 0, NULL, NULL,
	    "File whose first line is the key that is sent to it." },
	{ "engine.complete.model", AS_TEXT, AT(engine[ENGINE_complete].model), NULL, 0, 200, NULL, NULL,
	    "Model that is asked for." },
	{ "engine.complete.models", AS_LIST, AT(engine[ENGINE_complete].models), NULL, 0, 2000,
	    "names of letters, digits and ._-:/@+, comma-separated", setting_model,
	    "Further models of that server, which steps of flows may name. Nothing: they are all asked of engine.complete.model." },
	{ "engine.complete.timeout", AS_INT, AT(engine[ENGINE_complete].timeout), "120", 1, 3600, "seconds", NULL,
	    "How long one request may take." },
	{ "engine.complete.window", AS_INT, AT(engine[ENGINE_complete].window), "16000", 4000, 1000000, "tokens", NULL,
	    "How much its models read at once: 16000 tokens hold about 50 minutes of speech. Of a text that is longer every second, third "
	    "or further sentence is sent, and flows tell so. A server has a window of its own (num_ctx of Ollama, --max-model-len of "
	    "vLLM, -c of llama.cpp), which must not be smaller." },
	{ "engine.complete.daily_tokens", AS_INT, AT(engine[ENGINE_complete].daily_tokens), "1000000", 0, INT32_MAX, NULL, NULL,
	    "Tokens that each tenant may use in a day (UTC), as the server counts them; 0: any number. What an answer may "
	    "cost is reserved until it is there. When they are used up, texts are made without it." },
	{ "engine.embed", AS_CHOICE, AT(engine[ENGINE_embed].name), "none", 0, 0,
	    "none" EMBED_ENGINES(CHOICE), NULL,
	    "What finds out what texts mean, beside the built-in engine, which always does: nothing, or a server that speaks the "
	    "embeddings interface of OpenAI (vLLM, Ollama, llama.cpp and others), which is sent what is said in assets." },
	{ "engine.embed.url", AS_URL, AT(engine[ENGINE_embed].url), NULL, 0, 1000, NULL, NULL,
	    "Address of that server; a bare host, or one that ends in /v1, gets the usual path." },
	{ "engine.embed.key_file", AS_SECRET, AT(engine[ENGINE_embed].key), NULL, 0, 0, NULL, NULL,
	    "File whose first line is the key that is sent to it." },
	{ "engine.embed.model", AS_TEXT, AT(engine[ENGINE_embed].model), NULL, 0, 200, NULL, NULL,
	    "Model that is asked for. After a change `kinothek reindex` has all assets looked at anew." },
	{ "engine.embed.models", AS_LIST, AT(engine[ENGINE_embed].models), NULL, 0, 2000,
	    "names of letters, digits and ._-:/@+, comma-separated", setting_model,
	    "Further models of that server, which tenants may choose for themselves (embedModel). Nothing: all have engine.embed.model." },
	{ "engine.embed.timeout", AS_INT, AT(engine[ENGINE_embed].timeout), "60", 1, 3600, "seconds", NULL,
	    "How long one request may take." },
	{ "engine.embed.daily_tokens", AS_INT, AT(engine[ENGINE_embed].daily_tokens), "20000000", 0, INT32_MAX, NULL, NULL,
	    "Tokens that each tenant may use in a day (UTC), as the server counts them; 0: any number. When they are used up, "
	    "the built-in engine does alone." },
	{ "chat.days", AS_INT, AT(chat_days), "90", 1, 3650, "days", NULL,
	    "How long chats are kept after their latest question, and runs of flows." },
	{ "engine.library", AS_PATH, AT(engine_library), NULL, 0, 512, NULL, NULL,
	    "Directory of the library sherpa-onnx and of its model silero_vad_v6.onnx, which find where somebody speaks. Nothing: "
	    "where the installation has put them." },
	{ "engine.private_hosts", AS_LIST, AT(engine_private_hosts), NULL, 0, 1000, "host or host:port, comma-separated", setting_any,
	    "Hosts with private addresses that engines may be reached at; all others must have public ones." },
	{ "import.private_hosts", AS_LIST, AT(import_private_hosts), NULL, 0, 1000, "host or host:port, comma-separated", setting_any,
	    "Hosts with private addresses that files may be imported from; all others must have public ones." },
	{ "import.pages", AS_BOOL, AT(import_pages), "yes", 0, 0, NULL, NULL,
	    "Films are imported from pages of video platforms, too, if yt-dlp is installed." },
	{ "import.silence", AS_INT, AT(import_silence), "60", 1, 300, "seconds", NULL,
	    "How long a server that files are imported from may send nothing, or less than 1 KiB a second. Then it is asked again, "
	    "for the rest if it can." },
	{ "oparl.private_hosts", AS_LIST, AT(oparl_private_hosts), NULL, 0, 1000, "host or host:port, comma-separated", setting_any,
	    "Hosts with private addresses that agendas may be imported from; all others must have public ones." },
	{ "provider.private_hosts", AS_LIST, AT(provider_private_hosts), NULL, 0, 1000, "host or host:port, comma-separated", setting_any,
	    "Hosts with private addresses that external token servers may be reached at, also by http; all others must have public ones, "
	    "and https." },
	{ "webhook.private_hosts", AS_LIST, AT(webhook_private_hosts), NULL, 0, 1000, "host or host:port, comma-separated", setting_any,
	    "Hosts with private addresses that webhooks may be sent to, also by http; all others must have public ones, and https." },
	{ "webhook.timeout", AS_INT, AT(webhook_timeout), "15", 1, 60, "seconds", NULL,
	    "How long a receiver may take, from the question for its address to the end of its answer." },

	{ "smtp.url", AS_SMTP, AT(smtp_url), NULL, 0, 300, NULL, NULL,
	    "Server that takes mail: invitations of users who have an address are sent to it, too. smtp:// must offer STARTTLS unless it "
	    "is this machine. Nothing: no mail is sent." },
	{ "smtp.from", AS_TEXT, AT(smtp_from), NULL, 0, 254, NULL, NULL, "Address that mail comes from; smtp.url needs it." },
	{ "smtp.user", AS_TEXT, AT(smtp_user), NULL, 0, 254, NULL, NULL, "Name to sign in with at that server. Nothing: none." },
	{ "smtp.password_file", AS_SECRET, AT(smtp_password), NULL, 0, 0, NULL, NULL,
	    "File whose first line is the password of smtp.user." },
	{ "smtp.plain", AS_BOOL, AT(smtp_plain), "no", 0, 0, NULL, NULL,
	    "Speak to smtp:// without TLS also where it is another machine: for networks that nobody else listens to." },
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* Insertions, deletions and exchanges that make a into b. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[64], above, left, i, j, m = strlen(b);

	if (m >= 64)
		return 64;
	for (j = 0; j <= m; j++)
		row[j] = j;
	for (i = 0; a[i] != '\0'; i++) {
		above = row[0];
		row[0] = i + 1;
		for (j = 0; j < m; j++) {
			left = row[j + 1];
			row[j + 1] = above + (a[i] != b[j]);
			if (left + 1 < row[j + 1])
				row[j + 1] = left + 1;
			if (row[j] + 1 < row[j + 1])
				row[j + 1] = row[j] + 1;
			above = left;
		}
	}
	return row[m];
}

static bool
fail_unknown(struct reading *in, const char *key)
{
	const char *nearest = NULL, *last;
	size_t i, d, best = 5;

	for (i = 0; i < SETTINGS; i++) {
		d = distance(key, settings[i].key);
		/* "slots" and "job_slots" mean job.slots */
		last = strrchr(settings[i].key, '.');
		if (last != NULL && strcmp(key, last + 1) == 0)
			d = 1;
		if (d < best) {
			best = d;
			nearest = settings[i].key;
		}
	}
	if (nearest != NULL)
		return setting_fail(in, NULL, "there is no setting \"%s\"; did you mean \"%s\"?", key,
		    nearest);
	return setting_fail(in, NULL, "there is no setting \"%s\"", key);
}

static const struct setting *
find(const char *key)
{
	size_t i;

	for (i = 0; i < SETTINGS; i++)
		if (strcmp(settings[i].key, key) == 0)
			return &settings[i];
	return NULL;
}

static char *
trim(char *text)
{
	char *end;

	text += strspn(text, " \t");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r", end[-1]) != NULL)
		*--end = '\0';
	return text;
}

static bool
read_line(struct reading *in, char *line, int *seen)
{
	const struct setting *s;
	char *key, *value, *p;

	line = trim(line);
	if (line[0] == '\0' || line[0] == '#')
		return true;
	value = strchr(line, '=');
	if (value == NULL)
		return setting_fail(in, NULL, "expected: key = value");
	*value++ = '\0';
	key = trim(line);
	for (p = value; (p = strchr(p, '#')) != NULL; p++)
		if (p[-1] == ' ' || p[-1] == '\t') {
			*p = '\0';
			break;
		}
	s = find(key);
	if (s == NULL)
		return fail_unknown(in, key);
	if (seen[s - settings] != 0)
		return setting_fail(in, s, "is set in line %d already", seen[s - settings]);
	seen[s - settings] = in->line;
	return setting_set(in, s, trim(value));
}

static const char *
variable_of(const char *key)
{
	char *name = arena_printf(setting_mem(), "KINOTHEK_%s", key), *p;

	for (p = name; *p != '\0'; p++)
		*p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
	return name;
}

static bool
read_environment(struct reading *in)
{
	const char *name, *value;
	size_t i;

	for (i = 0; i < SETTINGS; i++) {
		name = variable_of(settings[i].key);
		value = getenv(name);
		if (value == NULL)
			continue;
		in->variable = name;
		if (!setting_set(in, &settings[i], value))
			return false;
	}
	in->variable = NULL;
	return true;
}

/* What goes into addresses as it stands. */
static bool
is_made_of(const char *text, const char *more)
{
	for (; *text != '\0'; text++)
		if (strchr("abcdefghijklmnopqrstuvwxyz0123456789-.", *text) == NULL && strchr(more, *text) == NULL)
			return false;
	return true;
}

static bool
check_store(struct reading *in)
{
	const struct conf *c = in->conf;
	const char *prefix = c->store_prefix;

	if (c->store_also != NULL && strcmp(c->store, c->store_also) == 0)
		return setting_fail(in, NULL, "store.also must name the other store than store does");
	if (strcmp(c->store, "s3") != 0 && c->store_also == NULL)
		return true;
	if (c->store_endpoint == NULL || c->store_bucket == NULL || c->store_key == NULL || c->store_secret == NULL)
		return setting_fail(in, NULL, c->store_also != NULL ? "store.also needs store.endpoint, store.bucket, "
		    "store.key and store.secret_file" : "store = s3 needs store.endpoint, store.bucket, store.key and store.secret_file");
	if (strlen(c->store_bucket) < 3 || !is_made_of(c->store_bucket, ""))
		return setting_fail(in, NULL, "store.bucket must be 3 to 63 of a-z, 0-9, - and .");
	if (strpbrk(c->store_region, "/ \t%") != NULL || strpbrk(c->store_key, "/ \t,") != NULL)
		return setting_fail(in, NULL, "store.region and store.key must not hold slashes or blanks");
	if (prefix != NULL && (!is_made_of(prefix, "_/") || prefix[0] == '/' || prefix[strlen(prefix) - 1] != '/' ||
	    strstr(prefix, "//") != NULL || strstr(arena_printf(setting_mem(), "/%s", prefix), "/.") != NULL))
		return setting_fail(in, NULL,
		    "store.prefix must be of a-z, 0-9, -, _ and ., end in a slash, and not begin with one");
	return true;
}

/* The two of sherpa-onnx for voices share a model. */
static bool
check_voices(struct reading *in)
{
	const struct engine_settings *turns = &in->conf->engine[ENGINE_diarize],
	    *prints = &in->conf->engine[ENGINE_voiceprint];
	const bool sherpa = strcmp(turns->name, "sherpa") == 0;
	const struct engine_settings other = engines_chosen(setting_mem(), turns, "sherpa");

	in->conf->engine[ENGINE_diarize].voices = prints->model;
	if (sherpa && turns->model == NULL)
		return setting_fail(in, NULL, "engine.diarize = sherpa needs engine.diarize.model");
	if (strcmp(prints->name, "sherpa") == 0 && prints->model == NULL)
		return setting_fail(in, NULL, "engine.voiceprint = sherpa needs engine.voiceprint.model");
	if (strcmp(other.name, "sherpa") == 0 && prints->model == NULL)
		return setting_fail(in, NULL, "%s needs engine.voiceprint.model, by which it compares voices", sherpa ?
		    "engine.diarize = sherpa" : "sherpa in engine.diarize.others");
	if (prints->same > 0 && prints->maybe > prints->same)
		return setting_fail(in, NULL, "engine.voiceprint.maybe must not be more than engine.voiceprint.same");
	return true;
}

static bool
check_engines(struct reading *in)
{
	const struct engine_settings *e = in->conf->engine;
	const char *wrong = engines_wrong(setting_mem(), in->conf);

	if (wrong != NULL)
		return setting_fail(in, NULL, "%s", wrong);
	if (strcmp(e[ENGINE_transcribe].name, "http") == 0 && e[ENGINE_transcribe].url == NULL)
		return setting_fail(in, NULL, "engine.transcribe = http needs engine.transcribe.url");
	if (strcmp(e[ENGINE_transcribe].name, "sherpa") == 0 &&
	    (e[ENGINE_transcribe].model == NULL || e[ENGINE_transcribe].model[0] != '/'))
		return setting_fail(in, NULL,
		    "engine.transcribe = sherpa needs engine.transcribe.model, an absolute path");
	if (!check_voices(in))
		return false;
	if (strcmp(e[ENGINE_punctuate].name, "sherpa") == 0 && e[ENGINE_punctuate].model == NULL)
		return setting_fail(in, NULL, "engine.punctuate = sherpa needs engine.punctuate.model");
	if (strcmp(e[ENGINE_complete].name, "http") == 0 && e[ENGINE_complete].url == NULL)
		return setting_fail(in, NULL, "engine.complete = http needs engine.complete.url");
	if (strcmp(e[ENGINE_embed].name, "http") == 0 && (e[ENGINE_embed].url == NULL || e[ENGINE_embed].model == NULL))
		return setting_fail(in, NULL, "engine.embed = http needs engine.embed.url and engine.embed.model");
	return true;
}

static bool
read_all(struct reading *in, char *text)
{
	int seen[SETTINGS] = { 0 };
	const char *variable;
	char *line;
	size_t i;

	if (!utf8_valid(text, strlen(text)))
		return setting_fail(in, NULL, "is not UTF-8");
	while ((line = strsep(&text, "\n")) != NULL) {
		in->line++;
		if (!read_line(in, line, seen))
			return false;
	}
	in->line = 0;
	/* Defaults come last, so that a default file is not looked for where another one was named. */
	for (i = 0; i < SETTINGS; i++) {
		variable = getenv(variable_of(settings[i].key));
		if (seen[i] == 0 && settings[i].otherwise != NULL && variable == NULL && !setting_set(in, &settings[i],
		    settings[i].otherwise))
			return false;
	}
	if (!read_environment(in))
		return false;
	if (!check_store(in))
		return false;
	if (!check_engines(in))
		return false;
	if (in->conf->live_rtmps_listen != NULL && (in->conf->live_certificate == NULL ||
	    in->conf->live_certificate_key == NULL))
		return setting_fail(in, NULL, "live.rtmps_listen needs live.certificate and live.certificate_key");
	if (in->conf->smtp_url != NULL && (in->conf->smtp_from == NULL || !mail_is_address(in->conf->smtp_from)))
		return setting_fail(in, NULL, "smtp.url needs smtp.from, the address of a mailbox");
	return true;
}

const struct conf *
conf_parse(const char *text, const char *name, const char **fault)
{
	struct reading in = { .name = name };

	in.conf = NEW(setting_mem(), struct conf);
	setting_note_file(in.conf, name);
	if (read_all(&in, arena_copy(setting_mem(), text)))
		return in.conf;
	*fault = in.fault;
	return NULL;
}

static void __attribute__((noreturn, format(printf, 1, 2)))
stop(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EX_CONFIG);
}

/* The whole file; "" when it is the default one and not there. */
static const char *
read_file(const char *file, bool must_exist)
{
	char *text = arena_alloc(setting_mem(), (1 << 20) + 1);
	FILE *f;
	size_t n;

	f = fopen(file, "re");
	if (f == NULL && errno == ENOENT && !must_exist)
		return "";
	if (f == NULL)
		stop("%s: cannot be read: %s", file, strerror(errno));
	n = fread(text, 1, 1 << 20, f);
	if (ferror(f) != 0)
		stop("%s: cannot be read: %s", file, strerror(errno));
	if (n == 1 << 20)
		stop("%s: is larger than 1 MiB", file);
	fclose(f);
	if (strlen(text) != n)
		stop("%s: holds a NUL byte", file);
	return text;
}

const struct conf *
conf_load_setup(void)
{
	const char *file = getenv("KINOTHEK_CONF"), *text, *fault;
	const struct conf *conf;

	text = file != NULL && file[0] != '\0' ? read_file(file, true) : read_file(file = KINOTHEK_CONF_FILE, false);
	conf = conf_parse(text, file, &fault);
	if (conf == NULL)
		stop("%s", fault);
	return conf;
}

const struct conf *
conf_load(void)
{
	const struct conf *conf = conf_load_setup();

	if (conf->play_key == NULL)
		stop("play.key_file names %s, which is not there: run `kinothek init`", conf->play_key_file);
	return conf;
}

static void
print_values(FILE *out, const struct setting *s)
{
	const char *p;

	switch (s->type) {
	case AS_CHOICE:
		for (p = s->choices; *p != '\0'; p += strspn(p, " ")) {
			fprintf(out, "%s`%.*s`", p == s->choices ? "" : ", ", (int)strcspn(p, " "), p);
			p += strcspn(p, " ");
		}
		return;
	case AS_BOOL:
		fputs("`yes`, `no`", out);
		return;
	case AS_INT:
		fprintf(out, "%lld to %lld", (long long)s->min, (long long)s->max);
		if (s->choices != NULL)
			fprintf(out, " %s", s->choices);
		return;
	case AS_SIZE:
		fputs("bytes, or with `K`, `M`, `G`, `T`", out);
		return;
	case AS_PATH:
		fputs("absolute path", out);
		return;
	case AS_SECRET:
		fputs("absolute path of a file", out);
		return;
	case AS_ORIGIN:
	case AS_URL:
		fputs("`http://…` or `https://…`", out);
		return;
	case AS_SMTP:
		fputs("`smtp://…` or `smtps://…`", out);
		return;
	case AS_TEXT:
		fprintf(out, "text, up to %lld bytes", (long long)s->max);
		return;
	case AS_LIST:
	case AS_PLAY_KEY:
		break;
	}
	fputs(s->choices, out);
}

void
conf_reference(FILE *out)
{
	const struct setting *s;
	size_t i;

	fputs("# Settings\n\n"
	    "The file is `" KINOTHEK_CONF_FILE "`, or the one that the environment variable `KINOTHEK_CONF` names. It "
	    "holds lines of\nthe form `key = value`; `#` at the start of a line or behind a blank begins a comment. A "
	    "key that is not in this table,\na key set twice or a value out of range stops the start, naming the line. "
	    "The variable in the last column wins over the\nfile. Secrets are never settings themselves: a setting "
	    "names a file whose first line is the secret.\n\n| Key | Default | Values | Meaning | Variable "
	    "|\n|---|---|---|---|---|\n", out);
	for (i = 0; i < SETTINGS; i++) {
		s = &settings[i];
		fprintf(out, "| `%s` | ", s->key);
		if (s->otherwise != NULL)
			fprintf(out, "`%s`", s->otherwise);
		fputs(" | ", out);
		print_values(out, s);
		fprintf(out, " | %s | `%s` |\n", s->doc, variable_of(s->key));
	}
}
