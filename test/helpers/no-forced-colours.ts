// On a terminal `node --test` has all that its files start write colours, where users would see none.
delete process.env['FORCE_COLOR'];
