# Writes what a program prints to a file: cmake -D "COMMAND=program;argument…" -D OUTPUT=file -P Print.cmake
get_filename_component(folder ${OUTPUT} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${COMMAND} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${OUTPUT} "${text}")
