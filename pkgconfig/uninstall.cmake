# SPDX-License-Identifier: BSD-3-Clause
#
# Removes the files that the last installation from this build has listed; folders stay.
if(NOT EXISTS ${manifest})
    message(FATAL_ERROR "nothing was installed from here: there is no ${manifest}")
endif()
file(STRINGS ${manifest} files)
foreach(file IN LISTS files)
    message(STATUS "Removing: $ENV{DESTDIR}${file}")
    file(REMOVE $ENV{DESTDIR}${file})
endforeach()
