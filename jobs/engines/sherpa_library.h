/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of sherpa-onnx's C interface that is used here, opened at run time.  Its structs change even between
 * patches, and it comes without a header: these are the layouts of SHERPA_VERSION, and a library of any other version
 * is refused.  What it does with a damaged model is abort(): only kinothek-speech, in the jail, may open it.
 */
#ifndef JOBS_ENGINES_SHERPA_LIBRARY_H
#define JOBS_ENGINES_SHERPA_LIBRARY_H

#include <stdint.h>

#define SHERPA_VERSION "1.13.8"

/* Members that are 0 or NULL take the library's default. */
struct sherpa_silero { const char *model; float threshold, min_silence, min_speech; int32_t window; float max_speech; };
struct sherpa_vad_config {
	struct sherpa_silero silero;
	int32_t rate, threads;
	const char *provider;
	int32_t debug;
	struct sherpa_silero ten;
};
struct sherpa_span { int32_t start; float *samples; int32_t n; };	/* in samples from the first one accepted */

struct sherpa_model_config {
	struct { const char *encoder, *decoder, *joiner; } transducer;
	const char *paraformer, *nemo_ctc;
	struct {
		const char *encoder, *decoder, *language, *task;
		int32_t tail_paddings, token_times, segment_times;
	} whisper;
	const char *tdnn, *tokens;
	int32_t threads, debug;
	const char *provider, *type, *unit, *bpe_vocab, *telespeech_ctc;
	struct { const char *model, *language; int32_t itn; } sense_voice;
	struct { const char *preprocessor, *encoder, *uncached, *cached, *merged; } moonshine;
	struct { const char *encoder, *decoder; } fire_red;
	const char *dolphin, *zipformer_ctc;
	struct { const char *encoder, *decoder, *source, *target; int32_t punctuation; } canary;
	const char *wenet_ctc, *omnilingual, *medasr;
	struct {
		const char *adaptor, *llm, *embedding, *tokenizer, *system, *user;
		int32_t max_new;
		float temperature, top_p;
		int32_t seed;
		const char *language;
		int32_t itn;
		const char *hotwords;
	} funasr;
	const char *fire_red_ctc;
	struct {
		const char *frontend, *encoder, *decoder, *tokenizer;
		int32_t max_total, max_new;
		float temperature, top_p;
		int32_t seed;
		const char *hotwords;
	} qwen3;
	struct { const char *encoder, *decoder, *language; int32_t punctuation, itn; } cohere;
};

struct sherpa_recognizer_config {
	struct { int32_t rate, dimension; } features;
	struct sherpa_model_config model;
	struct { const char *model; float scale; } lm;
	const char *method;
	int32_t paths;
	const char *hotwords;
	float hotwords_score;
	const char *rule_fsts, *rule_fars;
	float blank_penalty;
	struct { const char *dictionary, *lexicon, *rule_fsts; } homophones;
};

struct sherpa_result {
	const char *text;			/* the only text that is always UTF-8 */
	float *times;				/* starts of the tokens, s; may be NULL, as durations and log_probs */
	int32_t n;
	const char *joined;
	const char *const *tokens;		/* n; NULL where there are none */
	const char *json, *language, *emotion, *event;
	float *durations, *log_probs;
	const float *part_times, *part_durations;
	const char *part_texts;
	const char *const *parts;
	int32_t n_parts;
};

struct sherpa_embedding_config { const char *model; int32_t threads, debug; const char *provider; };
struct sherpa_diarization_config {
	struct {
		struct { const char *model; float shift_ratio; } pyannote;	/* of windows; 0: a tenth */
		int32_t threads, debug;
		const char *provider;
	} segmentation;
	struct sherpa_embedding_config embedding;
	struct { int32_t clusters; float threshold; int32_t confidence; } clustering;	/* clusters -1: not known */
	float min_on, min_off;			/* s */
};
struct sherpa_turn { float start, end; int32_t speaker; float confidence; };	/* s; speakers from 0 */

struct sherpa_punctuation_config { const char *ct_transformer; int32_t threads, debug; const char *provider; };

_Static_assert(sizeof(void *) != 8 || (sizeof(struct sherpa_vad_config) == 88 && sizeof(struct sherpa_span) == 24 &&
    sizeof(struct sherpa_recognizer_config) == 608 && sizeof(struct sherpa_result) == 128 &&
    sizeof(struct sherpa_embedding_config) == 24 && sizeof(struct sherpa_diarization_config) == 80 &&
    sizeof(struct sherpa_turn) == 16 && sizeof(struct sherpa_punctuation_config) == 24),
    "layout of " SHERPA_VERSION);

/* Member; what it returns; the symbol behind "Sherpa"; what it takes. */
#define SHERPA_CALLS(C) \
	C(version, const char *, OnnxGetVersionStr, (void)) \
	C(vad_new, const void *, OnnxCreateVoiceActivityDetector, (const struct sherpa_vad_config *, float seconds)) \
	C(vad_accept, void, OnnxVoiceActivityDetectorAcceptWaveform, (const void *, const float *, int32_t n)) \
	C(vad_empty, int32_t, OnnxVoiceActivityDetectorEmpty, (const void *)) \
	C(vad_front, const struct sherpa_span *, OnnxVoiceActivityDetectorFront, (const void *)) \
	C(vad_pop, void, OnnxVoiceActivityDetectorPop, (const void *)) \
	C(vad_flush, void, OnnxVoiceActivityDetectorFlush, (const void *)) \
	C(span_free, void, OnnxDestroySpeechSegment, (const struct sherpa_span *)) \
	C(recognizer_new, const void *, OnnxCreateOfflineRecognizer, (const struct sherpa_recognizer_config *)) \
	C(stream_new, const void *, OnnxCreateOfflineStream, (const void *recognizer)) \
	C(stream_accept, void, OnnxAcceptWaveformOffline, (const void *, int32_t rate, const float *, int32_t n)) \
	C(stream_decode, void, OnnxDecodeOfflineStream, (const void *recognizer, const void *)) \
	C(stream_result, const struct sherpa_result *, OnnxGetOfflineStreamResult, (const void *)) \
	C(result_free, void, OnnxDestroyOfflineRecognizerResult, (const struct sherpa_result *)) \
	C(stream_free, void, OnnxDestroyOfflineStream, (const void *)) \
	C(embedder_new, const void *, OnnxCreateSpeakerEmbeddingExtractor, (const struct sherpa_embedding_config *)) \
	C(embedder_dim, int32_t, OnnxSpeakerEmbeddingExtractorDim, (const void *)) \
	C(embedder_stream, const void *, OnnxSpeakerEmbeddingExtractorCreateStream, (const void *)) \
	C(embedder_ready, int32_t, OnnxSpeakerEmbeddingExtractorIsReady, (const void *, const void *stream)) \
	C(embedder_compute, const float *, OnnxSpeakerEmbeddingExtractorComputeEmbedding, (const void *, const void *stream)) \
	C(embedding_free, void, OnnxSpeakerEmbeddingExtractorDestroyEmbedding, (const float *)) \
	C(online_accept, void, OnnxOnlineStreamAcceptWaveform, (const void *, int32_t rate, const float *, int32_t n)) \
	C(online_end, void, OnnxOnlineStreamInputFinished, (const void *)) \
	C(online_free, void, OnnxDestroyOnlineStream, (const void *)) \
	C(diarizer_new, const void *, OnnxCreateOfflineSpeakerDiarization, (const struct sherpa_diarization_config *)) \
	C(diarizer_rate, int32_t, OnnxOfflineSpeakerDiarizationGetSampleRate, (const void *)) \
	C(diarizer_run, const void *, OnnxOfflineSpeakerDiarizationProcessWithCallback, (const void *, const float *, \
	    int32_t n, int32_t (*)(int32_t done, int32_t all, void *), void *)) \
	C(turns_count, int32_t, OnnxOfflineSpeakerDiarizationResultGetNumSegments, (const void *result)) \
	C(turns_sorted, const struct sherpa_turn *, OnnxOfflineSpeakerDiarizationResultSortByStartTime, (const void *result)) \
	C(punctuation_new, const void *, OnnxCreateOfflinePunctuation, (const struct sherpa_punctuation_config *)) \
	C(punctuate, const char *, OfflinePunctuationAddPunct, (const void *, const char *text)) \
	C(punctuated_free, void, OfflinePunctuationFreeText, (const char *))

struct sherpa {
#define SHERPA_MEMBER(member, type, symbol, arguments) type(*member) arguments;
	SHERPA_CALLS(SHERPA_MEMBER)
#undef SHERPA_MEMBER
};

/* Opens libsherpa-onnx-c-api.so in this directory, for the life of the process.  NULL, or a sentence of what is wrong
 * in static storage. */
const char *sherpa_open(struct sherpa *, const char *dir);

#endif
