#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: fields are read from CSV and PNG files, and pictures can be read again. Errors name
# the file, the line and the reason.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

# One step of a hot cell: a quarter of its heat goes to each neighbour. The corner has no effect, and
# gives both files the same range.
printf '0, 0, 0,0,0\n0,0,0,0,0\r\n\n0,0,4e0,0,0\n0,0,0,0,0\n0,0,0,0,4\n' >spot.csv
printf '0,0,0,0,0\n0,0,1,0,0\n0,1,0,1,0\n0,0,1,0,0\n0,0,0,0,4\n' >spread.csv
heat 0 --devices cpu:2 --input spot.csv --steps 1 --output spot.png
heat 0 --devices cpu:1 --input spread.csv --steps 0 --output spread.png
same spot.png spread.png
# A negative temperature widens the range, so the same heat has other grays.
sed '1s/^0/-4/' spread.csv >wide.csv
heat 0 --devices cpu:1 --input wide.csv --steps 0 --output wide.png
! cmp -s spread.png wide.png || fail 'the picture does not show the range of the input'

# A picture is a field with 16 bits for each cell: it can be read, and written again, unchanged.
heat 0 --devices cpu:2 --size 33x45 --steps 20 --output field.png
heat 0 --devices cpu:1 --input field.png --steps 0 --output field2.png
same field.png field2.png
verified --devices cpu:2 --input field.png --steps 7
tail -n 1 out | grep -Fq '33 x 45' || fail 'the size of the picture is wrong'

# Pictures with 3 x 3 pixels of other kinds, made by hand: 8 bits gray (0, 85, 170), 8 bits RGB and
# a palette with the same grays. All must be read as the same field.
png() {  # png FILE IHDR-TAIL EXTRA-CHUNK DATA: hexadecimal text
  python3 - "$@" <<'END'
import struct, sys, zlib
path, header, palette, data = sys.argv[1:]
def chunk(kind, body):
    return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', zlib.crc32(kind + body))
with open(path, 'wb') as file:
    file.write(b'\x89PNG\r\n\x1a\n')
    file.write(chunk(b'IHDR', struct.pack('>II', 3, 3) + bytes.fromhex(header)))
    if palette: file.write(chunk(b'PLTE', bytes.fromhex(palette)))
    file.write(chunk(b'IDAT', zlib.compress(bytes.fromhex(data))))
    file.write(chunk(b'IEND', b''))
END
}
png gray.png 0800000000 '' '000055aa 0055aa00 00aa0055'
png rgb.png 0802000000 '' '00000000555555aaaaaa 00555555aaaaaa000000 00aaaaaa000000555555'
png palette.png 0203000000 '000000555555aaaaaa' '0018 0060 0084'
printf '0,85,170\n85,170,0\n170,0,85\n' >gray.csv
for kind in gray rgb palette; do
  heat 0 --devices cpu:1 --input "$kind.png" --steps 0 --output "$kind-out.png"
  same gray-out.png "$kind-out.png"
done
heat 0 --devices cpu:1 --input gray.csv --steps 0 --output csv-out.png
! cmp -s gray-out.png csv-out.png || fail 'a CSV file must show its own range'

refused 'none.csv: cannot be opened' --input none.csv
refused 'none.png: cannot be opened' --input none.png
refused 'spot.txt: the name of the file must end with .png or .csv' --input spot.txt
sed '2s/$/,7/' spot.csv | tr -d '\r' >bad.csv
refused 'bad.csv, line 2: the row has 6 numbers, but the first row has 5' --input bad.csv
sed '4s/4e0/4e0x/' spot.csv >bad.csv
refused "bad.csv, line 4, column 3: '4e0x' is not a number" --input bad.csv
sed '5s/0,0/0,,0/' spot.csv >bad.csv
refused "bad.csv, line 5, column 2: '' is not a number" --input bad.csv
sed '1s/^0/nan/' spot.csv >bad.csv
refused "bad.csv, line 1, column 1: 'nan' is not a finite number" --input bad.csv
sed '6s/4$/1e99/' spot.csv >bad.csv
refused "bad.csv, line 6, column 5: '1e99' is out of the range" --input bad.csv
: >bad.csv
refused 'bad.csv: the file has no numbers' --input bad.csv
printf '1,2\n3,4\n' >bad.csv
refused 'bad.csv: the field has 2 rows and 2 columns, but each must be between 3' --input bad.csv
cp spot.csv bad.png
refused 'bad.png: is not a PNG file' --input bad.png
head -c 60 field.png >bad.png
refused 'bad.png: ' --input bad.png
sed 's/IDAT/IDAX/' field.png >bad.png
refused 'bad.png: ' --input bad.png
refused 'none/out.png: cannot be opened' --devices cpu:1 --output none/out.png
ln -s /dev/full full.png
refused 'full.png: ' --devices cpu:1 --size 512x512 --output full.png
