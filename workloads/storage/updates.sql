\once turn 0
-- An account each, spread over the table, and none twice.
\for i 1 100
  \set nth 100 * :turn + :i
  \set aid[:i] case when :nth <= :updates then permute(:nth - 1, 100000 * :scale, 1) + 1 else 0 end
\endfor
-- By more than any has before, and no two by the same, so that those with the most are the same in each variant.
\set more 100000 * :scale
UPDATE storage_accounts SET abalance = abalance + aid + :more WHERE aid IN
 (:aid[1], :aid[2], :aid[3], :aid[4], :aid[5], :aid[6], :aid[7], :aid[8], :aid[9], :aid[10],
  :aid[11], :aid[12], :aid[13], :aid[14], :aid[15], :aid[16], :aid[17], :aid[18], :aid[19], :aid[20],
  :aid[21], :aid[22], :aid[23], :aid[24], :aid[25], :aid[26], :aid[27], :aid[28], :aid[29], :aid[30],
  :aid[31], :aid[32], :aid[33], :aid[34], :aid[35], :aid[36], :aid[37], :aid[38], :aid[39], :aid[40],
  :aid[41], :aid[42], :aid[43], :aid[44], :aid[45], :aid[46], :aid[47], :aid[48], :aid[49], :aid[50],
  :aid[51], :aid[52], :aid[53], :aid[54], :aid[55], :aid[56], :aid[57], :aid[58], :aid[59], :aid[60],
  :aid[61], :aid[62], :aid[63], :aid[64], :aid[65], :aid[66], :aid[67], :aid[68], :aid[69], :aid[70],
  :aid[71], :aid[72], :aid[73], :aid[74], :aid[75], :aid[76], :aid[77], :aid[78], :aid[79], :aid[80],
  :aid[81], :aid[82], :aid[83], :aid[84], :aid[85], :aid[86], :aid[87], :aid[88], :aid[89], :aid[90],
  :aid[91], :aid[92], :aid[93], :aid[94], :aid[95], :aid[96], :aid[97], :aid[98], :aid[99], :aid[100]);
-- A further try changes the same.
\set turn :turn + 1
