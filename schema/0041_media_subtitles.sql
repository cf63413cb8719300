ALTER TABLE media ADD COLUMN subtitles JSON NULL COMMENT '[{languageCode,label,kind,file}] below play/{id}/: those that the file brought along; made by asset_summarise() from renditions';
