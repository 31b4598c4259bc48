-- Aeron for Wireshark and tshark, 3.6 or later.
--
--   aeron_archive  messages between an archive and its clients (SBE schema 101), fragmented ones too
--   aeron_frame    the frames of the transport as they are now: with error frames, name resolution,
--                  response setups, group tags and revoked streams
--
-- The built-in dissector "aeron" knows neither. It is switched off unless it is asked for, and gives
-- way to this one; with the preference aeron_archive.frames off it shows the frames, and this one
-- adds the messages. The tables below are generated. Copy this file into the folder of personal Lua
-- plugins (Help, About, Folders), or give it to tshark with "-X lua_script:FILE".

local SCHEMA_ID = 101
local DATA_HEADER_LENGTH = 32
local FRAME_ALIGNMENT = 32
local COMMON_HEADER_LENGTH = 8
local MESSAGE_HEADER_LENGTH = 8
local TYPE_PAD, TYPE_DATA, TYPE_STATUS, TYPE_RESOLUTION = 0, 1, 3, 7
local FLAG_BEGIN, FLAG_END, FLAG_EOS, FLAG_REVOKED = 0x80, 0x40, 0x20, 0x10
local FLAG_STATUS_EOS = 0x40
-- Fragments of one stream that wait for others; beyond that the oldest knowledge is dropped.
local PENDING_LIMIT = 4096

--@TABLES@

local archive = Proto("aeron_archive", "Aeron Archive Control Protocol")
local frame = Proto("aeron_frame", "Aeron Frame")
archive.prefs.frames = Pref.bool("Show frames", true, "Show the frames of the transport as well")

local function make_field(abbreviation, field)
  if field.kind == "text" then
    return ProtoField.string(abbreviation, field.label)
  elseif field.kind == "bytes" then
    return ProtoField.bytes(abbreviation, field.label)
  elseif field.enum ~= nil then
    return ProtoField.int32(abbreviation, field.label, base.DEC, ENUMS[field.enum])
  end
  return ProtoField[field.kind](abbreviation, field.label)
end

local archive_fields = {
  block_length = ProtoField.uint16("aeron_archive.block_length", "Block Length"),
  template_id = ProtoField.uint16("aeron_archive.template_id", "Template Id", base.DEC, TEMPLATES),
  schema_id = ProtoField.uint16("aeron_archive.schema_id", "Schema Id"),
  schema_version = ProtoField.uint16("aeron_archive.schema_version", "Schema Version"),
  fragments = ProtoField.uint32("aeron_archive.fragments", "Fragments"),
}
for name, field in pairs(FIELDS) do
  archive_fields[name] = make_field("aeron_archive." .. name, field)
end
archive.fields = archive_fields

local frame_fields = {
  frame_length = ProtoField.int32("aeron_frame.frame_length", "Frame Length"),
  flags = ProtoField.uint8("aeron_frame.flags", "Flags", base.HEX),
  type = ProtoField.uint16("aeron_frame.type", "Type", base.DEC, FRAME_NAMES),
  begin = ProtoField.bool("aeron_frame.begin", "Begin of a Message"),
  finish = ProtoField.bool("aeron_frame.end", "End of a Message"),
  eos = ProtoField.bool("aeron_frame.eos", "End of Stream"),
  revoked = ProtoField.bool("aeron_frame.revoked", "Revoked"),
  group_tag = ProtoField.int64("aeron_frame.group_tag", "Group Tag"),
  payload = ProtoField.bytes("aeron_frame.payload", "Payload"),
  text = ProtoField.string("aeron_frame.text", "Text"),
  resolution_self = ProtoField.bool("aeron_frame.resolution.self", "Of the Sender Itself"),
  resolution_port = ProtoField.uint16("aeron_frame.resolution.port", "Port"),
  resolution_age_ms = ProtoField.int32("aeron_frame.resolution.age_ms", "Age in ms"),
  resolution_ipv4 = ProtoField.ipv4("aeron_frame.resolution.ipv4", "Address"),
  resolution_ipv6 = ProtoField.ipv6("aeron_frame.resolution.ipv6", "Address"),
  resolution_name = ProtoField.string("aeron_frame.resolution.name", "Name"),
}
for name, field in pairs(FRAME_FIELDS) do
  frame_fields[name] = ProtoField[field.kind]("aeron_frame." .. name, field.label)
end
frame.fields = frame_fields

local too_short = ProtoExpert.new(
  "aeron_archive.too_short", "The message ends before what it says", expert.group.MALFORMED,
  expert.severity.ERROR)
archive.experts = { too_short }

-- Streams by addresses, session and stream: fragments by "term id:end offset" and "...:offset".
local streams = {}
-- Reassembled messages of frames: number of the packet and offset in it -> bytes, fragments.
local reassembled = {}

function archive.init()
  streams = {}
  reassembled = {}
end

local function has(flags, flag)
  return math.floor(flags / flag) % 2 == 1
end

local function aligned(length)
  return math.floor((length + FRAME_ALIGNMENT - 1) / FRAME_ALIGNMENT) * FRAME_ALIGNMENT
end

-- Length of the frame at an offset as it lies in the datagram; nil where none can be.
local function frame_extent(tvb, offset)
  local left = tvb:len() - offset
  if left < COMMON_HEADER_LENGTH or tvb(offset + 4, 1):uint() ~= 0 then
    return nil
  end
  local length, type = tvb(offset, 4):le_int(), tvb(offset + 6, 2):le_uint()
  if type == TYPE_DATA and length == 0 then
    return left == DATA_HEADER_LENGTH and left or nil -- a heartbeat
  elseif type == TYPE_PAD then
    return length >= DATA_HEADER_LENGTH and left >= DATA_HEADER_LENGTH and DATA_HEADER_LENGTH or nil
  elseif type == TYPE_DATA then
    return length >= DATA_HEADER_LENGTH and length <= left and math.min(aligned(length), left) or nil
  end
  local least = FRAME_LENGTHS[type]
  return least ~= nil and length >= least and length <= left and length or nil
end

local function message_header(tvb, offset)
  if tvb:len() - offset < MESSAGE_HEADER_LENGTH then
    return nil
  end
  local template_id = tvb(offset + 2, 2):le_uint()
  local message = MESSAGES[template_id]
  if tvb(offset + 4, 2):le_uint() ~= SCHEMA_ID or message == nil then
    return nil
  end
  return message, tvb(offset, 2):le_uint(), tvb(offset + 6, 2):le_uint()
end

local function version_text(value)
  return string.format(
    "%d.%d.%d", math.floor(value / 65536) % 256, math.floor(value / 256) % 256, value % 256)
end

local function add_fixed(tree, tvb, offset, entry)
  local range = tvb(offset, entry.length)
  local field = FIELDS[entry.name]
  local item = tree:add_le(archive_fields[entry.name], range)
  if entry.name == "version" then
    item:append_text(" (" .. version_text(range:le_int()) .. ")")
    return version_text(range:le_int())
  elseif field.enum ~= nil then
    return ENUMS[field.enum][range:le_int()] or tostring(range:le_int())
  elseif entry.length == 8 then
    return tostring(range:le_int64())
  end
  return tostring(range:le_int())
end

-- Fields behind the block; false when the message ends too early.
local function add_variable(tree, tvb, offset, message, version, shown)
  for _, entry in ipairs(message.var) do
    if entry.since <= version then
      if offset + 4 > tvb:len() then
        return false
      end
      local length = tvb(offset, 4):le_uint()
      if length > tvb:len() - offset - 4 then
        return false
      end
      local text = ""
      if length > 0 then
        local range = tvb(offset + 4, length)
        tree:add(archive_fields[entry.name], range)
        text = FIELDS[entry.name].kind == "text" and range:string() or length .. " bytes"
      else
        tree:add(archive_fields[entry.name], tvb(offset, 4), "")
      end
      shown[#shown + 1] = entry.name .. "=" .. text
      offset = offset + 4 + length
    end
  end
  return true
end

local IN_SUMMARY = { correlation_id = true, relevant_id = true, code = true, recording_id = true,
  signal = true, channel = true, replay_channel = true, response_channel = true, position = true,
  error_message = true, stream_id = true, client_info = true }

local function summary(message, shown)
  local parts = {}
  for _, text in ipairs(shown) do
    local name, value = text:match("^([%w_]+)=(.*)$")
    if IN_SUMMARY[name] and value ~= "" then
      parts[#parts + 1] = text
    end
  end
  return message.name .. " " .. table.concat(parts, " ")
end

-- One message with its header; true when there was one.
local function dissect_message(tvb, offset, pinfo, tree, fragments)
  local message, block_length, version = message_header(tvb, offset)
  if message == nil then
    return false
  end
  local subtree = tree:add(archive, tvb(offset), "Aeron Archive: " .. message.name)
  subtree:add_le(archive_fields.block_length, tvb(offset, 2))
  subtree:add_le(archive_fields.template_id, tvb(offset + 2, 2))
  subtree:add_le(archive_fields.schema_id, tvb(offset + 4, 2))
  subtree:add_le(archive_fields.schema_version, tvb(offset + 6, 2))
  if fragments > 1 then
    subtree:add(archive_fields.fragments, fragments):set_generated()
  end
  local body = offset + MESSAGE_HEADER_LENGTH
  local shown = {}
  local whole = body + block_length <= tvb:len()
  if whole then
    for _, entry in ipairs(message.fixed) do
      if entry.since <= version and entry.offset + entry.length <= block_length then
        shown[#shown + 1] = entry.name .. "=" .. add_fixed(subtree, tvb, body + entry.offset, entry)
      end
    end
    whole = add_variable(subtree, tvb, body + block_length, message, version, shown)
  end
  if not whole then
    subtree:add_tvb_expert_info(too_short, tvb(offset))
  end
  local text = summary(message, shown)
  subtree:append_text(" " .. table.concat(shown, " "):sub(1, 200))
  pinfo.cols.protocol = "AERON-ARCHIVE"
  pinfo.cols.info:append(" [" .. text .. "]")
  return true
end

local function stream_of(tvb, offset, pinfo)
  local key = table.concat({
    tostring(pinfo.src), pinfo.src_port, tostring(pinfo.dst), pinfo.dst_port,
    tvb(offset + 12, 4):le_int(), tvb(offset + 16, 4):le_int() }, "/")
  local stream = streams[key]
  if stream == nil then
    stream = { starts = {}, ends = {}, count = 0 }
    streams[key] = stream
  end
  return stream
end

-- Keeps a fragment; the message's bytes and number of fragments when it is the last one missing.
-- Fragments of a message lie in one term, each where the one before it ends.
local function collect(stream, term_id, offset, length, flags, bytes)
  if stream.count >= PENDING_LIMIT then
    stream.starts, stream.ends, stream.count = {}, {}, 0
  end
  local function key(at)
    return term_id .. ":" .. at
  end
  local piece = { start = offset, stop = offset + aligned(length), flags = flags, bytes = bytes }
  if stream.starts[key(offset)] == nil then
    stream.count = stream.count + 1
  end
  stream.starts[key(offset)] = piece
  stream.ends[key(piece.stop)] = piece
  local first = piece
  while not has(first.flags, FLAG_BEGIN) do
    first = stream.ends[key(first.start)]
    if first == nil then
      return nil
    end
  end
  local last = first
  local pieces = { first }
  while not has(last.flags, FLAG_END) do
    last = stream.starts[key(last.stop)]
    if last == nil then
      return nil
    end
    pieces[#pieces + 1] = last
  end
  local whole = ByteArray.new()
  for _, each in ipairs(pieces) do
    whole:append(each.bytes)
    stream.starts[key(each.start)] = nil
    stream.ends[key(each.stop)] = nil
    stream.count = stream.count - 1
  end
  return whole, #pieces
end

-- The message of a data frame, when it ends there or is whole.
local function dissect_data(tvb, offset, pinfo, tree)
  local length, flags = tvb(offset, 4):le_int(), tvb(offset + 5, 1):uint()
  if length <= DATA_HEADER_LENGTH then
    return
  end
  local payload = tvb(offset + DATA_HEADER_LENGTH, length - DATA_HEADER_LENGTH)
  if has(flags, FLAG_BEGIN) and has(flags, FLAG_END) then
    dissect_message(payload:tvb(), 0, pinfo, tree, 1)
    return
  end
  local place = pinfo.number .. "/" .. offset
  if not pinfo.visited then
    local whole, count = collect(
      stream_of(tvb, offset, pinfo), tvb(offset + 20, 4):le_int(), tvb(offset + 8, 4):le_int(),
      length, flags, payload:bytes())
    if whole ~= nil then
      reassembled[place] = { bytes = whole, count = count }
    end
  end
  local found = reassembled[place]
  if found ~= nil then
    dissect_message(found.bytes:tvb("Reassembled Aeron Message"), 0, pinfo, tree, found.count)
  end
end

local function dissect_resolution(tvb, offset, length, tree)
  local at, stop = offset + COMMON_HEADER_LENGTH, offset + length
  while at + 8 <= stop do
    local kind, flags = tvb(at, 1):int(), tvb(at + 1, 1):uint()
    local address_length = kind == 2 and 16 or 4
    local name_at = at + 8 + address_length
    if name_at + 2 > stop then
      return
    end
    local name_length = tvb(name_at, 2):le_uint()
    if name_at + 2 + name_length > stop then
      return
    end
    local entry_length = math.floor((name_at + 2 + name_length - at + 7) / 8) * 8
    local entry = tree:add(frame, tvb(at, math.min(entry_length, stop - at)), "Name")
    entry:add(frame_fields.resolution_self, has(flags, 0x80))
    entry:add_le(frame_fields.resolution_port, tvb(at + 2, 2))
    entry:add_le(frame_fields.resolution_age_ms, tvb(at + 4, 4))
    if kind == 2 then
      entry:add(frame_fields.resolution_ipv6, tvb(at + 8, 16))
    else
      entry:add(frame_fields.resolution_ipv4, tvb(at + 8, 4))
    end
    if name_length > 0 then
      entry:add(frame_fields.resolution_name, tvb(name_at + 2, name_length))
      entry:append_text(": " .. tvb(name_at + 2, name_length):string())
    end
    at = at + entry_length
  end
end

local function add_flags(tree, tvb, offset, type, flags)
  if type == TYPE_DATA or type == TYPE_PAD then
    local range = tvb(offset + 5, 1)
    tree:add(frame_fields.begin, range, has(flags, FLAG_BEGIN))
    tree:add(frame_fields.finish, range, has(flags, FLAG_END))
    tree:add(frame_fields.eos, range, has(flags, FLAG_EOS))
    tree:add(frame_fields.revoked, range, has(flags, FLAG_REVOKED))
  elseif type == TYPE_STATUS then
    tree:add(frame_fields.eos, tvb(offset + 5, 1), has(flags, FLAG_STATUS_EOS))
  end
end

local function frame_name(type, length, flags)
  if type == TYPE_DATA and length == 0 then
    return has(flags, FLAG_REVOKED) and "HEARTBEAT revoked"
      or has(flags, FLAG_EOS) and "HEARTBEAT end of stream" or "HEARTBEAT"
  end
  return FRAME_NAMES[type] or tostring(type)
end

local IN_INFO = { session_id = true, stream_id = true, term_id = true, term_offset = true }

-- One frame of the transport; what its name and identity are goes into the column.
local function dissect_frame(tvb, offset, extent, type, pinfo, tree)
  local length, flags = tvb(offset, 4):le_int(), tvb(offset + 5, 1):uint()
  local name = frame_name(type, length, flags)
  local subtree = tree:add(frame, tvb(offset, extent), "Aeron " .. name)
  subtree:add_le(frame_fields.frame_length, tvb(offset, 4))
  subtree:add(frame_fields.flags, tvb(offset + 5, 1))
  add_flags(subtree, tvb, offset, type, flags)
  subtree:add_le(frame_fields.type, tvb(offset + 6, 2))
  local shown = { name }
  for _, entry in ipairs(FRAMES[type] or {}) do
    local range = tvb(offset + entry.offset, entry.length)
    subtree:add_le(frame_fields[entry.name], range)
    if IN_INFO[entry.name] then
      shown[#shown + 1] = entry.name .. "=" .. range:le_int()
    end
  end
  if type == TYPE_RESOLUTION then
    dissect_resolution(tvb, offset, extent, subtree)
  elseif type == TYPE_ERROR then
    local text_length = tvb(offset + ERROR_TEXT_LENGTH_AT, 4):le_int()
    local room = extent - ERROR_LENGTH
    if text_length > 0 and room > 0 then
      local text = tvb(offset + ERROR_LENGTH, math.min(text_length, room))
      subtree:add(frame_fields.text, text)
      shown[#shown + 1] = text:string()
    end
  elseif type == TYPE_STATUS and extent >= STATUS_TAGGED_LENGTH then
    subtree:add_le(frame_fields.group_tag, tvb(offset + STATUS_GROUP_TAG_AT, 8))
  elseif type == TYPE_DATA and length > DATA_HEADER_LENGTH then
    local payload = tvb(offset + DATA_HEADER_LENGTH, length - DATA_HEADER_LENGTH)
    subtree:add(frame_fields.payload, payload)
    shown[#shown + 1] = "length=" .. payload:len()
  end
  subtree:append_text(" " .. table.concat(shown, " ", 2))
  pinfo.cols.info:append((offset > 0 and ", " or "") .. table.concat(shown, " "))
end

-- The frames of a datagram: offset, extent and type of each; nil when it holds anything else.
local function frames_of(tvb)
  local offset, found = 0, {}
  while offset < tvb:len() do
    local extent = frame_extent(tvb, offset)
    if extent == nil then
      return nil
    end
    found[#found + 1] = { offset = offset, extent = extent, type = tvb(offset + 6, 2):le_uint() }
    offset = offset + extent
  end
  return #found > 0 and found or nil
end

local function dissect_datagram(tvb, pinfo, tree)
  local found = frames_of(tvb)
  if found == nil then
    return false
  end
  pinfo.cols.protocol = "AERON"
  pinfo.cols.info:set("")
  for _, each in ipairs(found) do
    dissect_frame(tvb, each.offset, each.extent, each.type, pinfo, tree)
    if each.type == TYPE_DATA then
      dissect_data(tvb, each.offset, pinfo, tree)
    end
  end
  return true
end

function archive.dissector(tvb, pinfo, tree)
  return dissect_datagram(tvb, pinfo, tree) and tvb:len() or 0
end

archive:register_heuristic("udp", function(tvb, pinfo, tree)
  return archive.prefs.frames and dissect_datagram(tvb, pinfo, tree)
end)
DissectorTable.get("udp.port"):add_for_decode_as(archive)

-- With the preference off: messages behind what another dissector has shown.
local messages = Proto("aeron_archive_messages", "Aeron Archive Messages")
local udp_payload = Field.new("udp.payload")

function messages.dissector(_, pinfo, tree)
  local payload = not archive.prefs.frames and udp_payload()
  if not payload then
    return
  end
  local tvb = payload.range:tvb()
  for _, each in ipairs(frames_of(tvb) or {}) do
    if each.type == TYPE_DATA then
      dissect_data(tvb, each.offset, pinfo, tree)
    end
  end
end

register_postdissector(messages)
