# SPDX-License-Identifier: GPL-3.0-or-later
# docs/openapi.json as Markdown: the operations of $tag; or, where that is empty, the objects.  $examples[0] is docs/examples.json.

def name: split("/")[-1];

def words:
	if .["$ref"] then "[" + (.["$ref"] | name) + "](objects.md#" + (.["$ref"] | name | ascii_downcase) + ")"
	elif .allOf then .allOf[0] | words
	elif .anyOf then [.anyOf[] | select(.type != "null") | words] | join(" or ")
	elif has("const") then .const | tojson
	elif .enum then [.enum[] | select(. != null) | tojson] | join(", ")
	else
		([.type] | flatten | map(select(. != "null")) | first // "any") as $kind |
		(if $kind == "array" and .items then "list of " + (.items | words) else $kind end) + (if .format then " (" + .format + ")" else "" end)
	end;

def bounds:
	[(.minimum // .minLength // .minItems), (.maximum // .maxLength // .maxItems)] |
	if .[0] == null and .[1] == null then "" else ", " + (.[0] // "" | tostring) + ".." + (.[1] // "" | tostring) end;

# Points of a text become points below the item.
def item($name; $required):
	"- `" + $name + "` (" + words + bounds + (if $required then ", required" else "" end) +
	(if has("default") then ", " + (.default | tojson) + " unless given" else "" end) + ")" +
	((.description // "") | if . == "" then "" else ": " + gsub("\n- "; "\n  - ") end);

def members:
	(.required // []) as $must | .properties // {} | to_entries | map(.key as $key | .value | item($key; $must | any(. == $key))) | join("\n");

def parameter:
	. as $p | .schema + {description: ((if .in == "path" then "In the path. " elif .in == "header" then "A header. " else "" end) + (.description // ""))} |
	item($p.name; $p.required);

def call($example):
	($example.request) as $r |
	$r.method + " " + $r.path + (if $r.query then "?" + ($r.query | to_entries | map(.key + "=" + (.value | tostring | @uri)) | join("&")) else "" end) +
	(($r.headers // {}) | to_entries | map("\n" + .key + ": " + .value) | join("")) +
	(if $r.body then "\n\n" + (if $r.headers["Content-Type"] == "application/json" then $r.body | tojson
		elif ($r.body | type) == "string" then $r.body else [$r.body | to_entries[] | .key + "=" + (.value | tostring | @uri)] | join("&") end) else "" end);

def answer($example):
	($example.answer) as $a | ($a.status | tostring) + (if $a.body == null then "" elif ($a.body | type) == "string" then "\n\n" + $a.body
		else "\n\n" + ($a.body | tojson) end);

def codes($document):
	[.responses | to_entries[] | select(.key >= "400" and .key != "default") | .key as $status |
		((.value["$ref"] // "") | name) as $response |
		($document.components.responses[$response].content["application/json"].schema["$ref"] // "" | name) as $schema |
		($document.components.schemas[$schema].properties.data.properties.code.enum // []) |
		"- " + $status + ": " + (map("`" + . + "`") | join(", "))] | join("\n");

def operation($document; $path; $method):
	($examples[0][.operationId]) as $example |
	"## " + .operationId + "\n\n`" + ($method | ascii_upcase) + " " + $path + "`\n\n" + (.description // .summary) + "\n" +
	(if (.parameters // []) != [] then "\nParameters:\n\n" + ([.parameters[] | parameter] | join("\n")) + "\n" else "" end) +
	(if .requestBody then "\nBody:\n\n" + ([.requestBody.content | to_entries[] | "`" + .key + "`: " + (.value.schema | words) +
		(.value.schema | if .properties then "\n" + members else "" end)] | join("\n\n")) + "\n" else "" end) +
	([.responses | to_entries[] | select(.key < "400") | .key as $status | (.value.content // {}) | to_entries |
		if . == [] then "\nAnswer " + $status + ".\n" else .[] |
		"\nAnswer " + $status + ", `" + .key + "`: " + (.value.schema | (.properties.data // .) | words) + "\n" end] | join("")) +
	"\nRefusals:\n\n" + codes($document) + "\n" +
	(if $example then "\nExample:\n\n```http\n" + call($example) + "\n```\n\n```http\n" + answer($example) + "\n```\n" else "" end);

. as $document |
if $tag == "" then
	"# Objects\n\n" + ([.components.schemas | to_entries | sort_by(.key)[] | select(.key | endswith("Failure") | not) |
		"## " + .key + "\n\n" + (.value | if .properties then members else words end) + "\n"] | join("\n"))
else
	"# " + $tag + "\n\n" + (.tags[] | select(.name == $tag) | .description) + ".\n\n" +
	([.paths | to_entries[] | .key as $path | .value | to_entries[] |
		select((.value | type) == "object" and .value.operationId and .value.tags[0] == $tag) | .key as $method | .value |
		operation($document; $path; $method)] | join("\n"))
end
